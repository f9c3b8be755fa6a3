-- The rule on guesses that are spread over recipients and client networks, so that no single count shows them.
--
-- A caller's subnet (IPv4: the /24, IPv6: the /48) is a stranger as far as its wrong codes are not explained by right
-- ones. A wrong code is settled once the same recipient's right code comes from the same subnet. People who mistype
-- settle theirs within a minute; guessers never do. Callers who share an address have no subnet and are left alone.
--
-- p_limits, the project's figures, are {"assumed": 40, "heavy": 400, "subnet_day": 5, "subnet_tries": 3}; an `assumed` of
-- 0 switches the rule off.
--
-- A right code of a test login says nothing of a caller. It costs no message, and people outside may know it.
--
-- PostgreSQL may think these tables empty when it plans. Then all their indexes seem equally good to it, and some lead
-- through a whole day of the project. So each statement asks for the order of the one index that serves it, and sorting
-- is priced out (install.py). A pair of columns is compared because under an equality any index has the subnet's order.

-- Return null if the caller's code may be compared; else the seconds to wait, and the figures.
--
-- A subnet without an unsettled wrong code of its last day may always try. Nearly every honest caller is in one, and
-- this costs one look into an index. Other subnets have a number of tries, which falls as the project is attacked:
--   calm    `subnet_day`
--   attack  `subnet_tries`: the unsettled wrong codes of all strangers exceed `assumed`
--   heavy   1, unless a right code came from the subnet within 30 days: they exceed `heavy`
-- Every ten right codes of a subnet (of the project) explain one unsettled wrong code more of the subnet (the project), but
-- at most `assumed` of them: whoever verifies mailboxes of their own must not buy guesses without an end.
-- Only committed checks are seen, so the checks in flight may overshoot the numbers.
CREATE OR REPLACE FUNCTION judge_stranger(
    p_project bigint, p_subnet text, p_limits jsonb, p_now timestamptz, OUT retry_after integer, OUT figures jsonb
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_remembered constant interval := '1 day';
    v_known_for constant interval := '30 days';
    v_attack_wait constant integer := 300;  -- seconds: an attack that stops has left the count of all by then
    v_rights_for_one constant integer := 10;
    v_assumed constant integer := p_limits -> 'assumed';
    v_subnet_day constant integer := p_limits -> 'subnet_day';
    v_latest constant timestamptz := latest_past(p_now);
    v_since timestamptz;
    v_tries integer := v_subnet_day;
    v_wrong integer;
    v_all integer;
    v_right integer;
BEGIN
    IF p_subnet = '' OR v_assumed = 0 THEN
        RETURN;
    END IF;
    v_since := lifted_since(p_project, p_now - v_remembered);
    SELECT count(*) INTO v_wrong FROM (
        SELECT FROM verification_wrongcode
        WHERE project_id = p_project AND subnet <> '' AND NOT is_settled
          AND (subnet, created_at) > (p_subnet, v_since) AND (subnet, created_at) <= (p_subnet, v_latest)
        ORDER BY subnet, created_at
    ) AS theirs;
    IF v_wrong = 0 THEN
        RETURN;
    END IF;

    v_all := strangers_wrong_codes(p_project, v_assumed, v_assumed + (p_limits -> 'heavy')::integer + 1, p_now);
    IF v_all > v_assumed THEN
        v_tries := least(v_tries, (p_limits -> 'subnet_tries')::integer);
    END IF;
    IF v_all > (p_limits -> 'heavy')::integer THEN
        PERFORM FROM verification_verifytoken
        WHERE project_id = p_project AND subnet <> '' AND test_login IS NULL
          AND (subnet, created_at) > (p_subnet, p_now - v_known_for) AND (subnet, created_at) <= (p_subnet, v_latest)
        ORDER BY subnet, created_at
        LIMIT 1;
        IF NOT FOUND THEN
            v_tries := 1;
        END IF;
    END IF;
    IF v_wrong < v_tries THEN
        RETURN;
    END IF;

    SELECT count(*) INTO v_right FROM (
        SELECT FROM verification_verifytoken
        WHERE project_id = p_project AND subnet <> '' AND test_login IS NULL
          AND (subnet, created_at) > (p_subnet, v_since) AND (subnet, created_at) <= (p_subnet, v_latest)
        ORDER BY subnet, created_at
        LIMIT v_rights_for_one * least(v_wrong - v_tries + 1, v_assumed)
    ) AS explaining;
    IF v_wrong < v_tries + v_right / v_rights_for_one THEN
        RETURN;
    END IF;
    figures := jsonb_build_object('wrong', v_wrong, 'right', v_right, 'limit', v_tries);
    IF v_tries < v_subnet_day THEN
        retry_after := v_attack_wait;
        RETURN;
    END IF;
    SELECT greatest(1, ceil(extract(epoch FROM created_at + v_remembered - p_now))) INTO retry_after
    FROM verification_wrongcode
    WHERE project_id = p_project AND subnet <> '' AND NOT is_settled
      AND (subnet, created_at) > (p_subnet, v_since) AND (subnet, created_at) <= (p_subnet, v_latest)
    ORDER BY subnet, created_at
    LIMIT 1;
END
$$;

-- The unsettled wrong codes of all strangers within five minutes, less those that the project's right codes explain.
-- Right codes are read only if the wrong ones exceed `p_assumed`: below, the exact number decides nothing. Nor does it
-- beyond `p_most`, where counting stops.
CREATE OR REPLACE FUNCTION strangers_wrong_codes(p_project bigint, p_assumed integer, p_most integer, p_now timestamptz)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_window constant interval := '5 minutes';
    v_rights_for_one constant integer := 10;
    v_since timestamptz := lifted_since(p_project, p_now - v_window);
    v_wrong integer;
    v_right integer;
BEGIN
    SELECT count(*) INTO v_wrong FROM (
        SELECT FROM verification_wrongcode
        WHERE project_id = p_project AND subnet <> '' AND NOT is_settled
          AND created_at > v_since AND created_at <= latest_past(p_now)
        ORDER BY created_at
        LIMIT p_most
    ) AS unsettled;
    IF v_wrong <= p_assumed THEN
        RETURN v_wrong;
    END IF;
    SELECT count(*) INTO v_right FROM (
        SELECT FROM verification_verifytoken
        WHERE project_id = p_project AND subnet <> '' AND test_login IS NULL
          AND created_at > v_since AND created_at <= latest_past(p_now)
        ORDER BY created_at
        LIMIT v_rights_for_one * least(v_wrong - p_assumed, p_assumed)
    ) AS explaining;
    RETURN v_wrong - v_right / v_rights_for_one;
END
$$;

-- The later of p_since and the time at which the owner lifted the last finding of this rule. Wrong codes before it are
-- not counted again.
CREATE OR REPLACE FUNCTION lifted_since(p_project bigint, p_since timestamptz)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN greatest(p_since, (
        SELECT lifted_at FROM verification_guardblock
        WHERE project_id = p_project AND subject = '' AND rule = 'strangers'
          AND lifted_at <= latest_past(clock_timestamp())  -- a clock that was set back makes a lift lie ahead
    ));
END
$$;
