-- The traffic guard's rules on prefixes and on client networks, against SMS pumping: codes are sent to numbers that earn
-- the sender money.
--
-- p_guard are the terms of guard_terms (protection/recipient.py): null where nothing is judged or counted; else, in seconds:
--   {"enforce": true, "rule": "prefix", "counts_all": false, "prefix": "+49151123", "country": "DE",
--    "numbers": 10, "window": 600, "block": 1800, "block_max": 43200, "quiet": 86400, "known_days": 90,
--    "network": the caller's, empty where many callers share it, "network_countries": 3, "least_percent": 20,
--    "observes_countries": true while no country of the project is refused for its conversion,
--    "masked": the number as an owner may read it}
-- open_session adds "goes_elsewhere": true if the code goes out over another channel where the guard refuses this one;
-- it and send_code add "passed": true for a session that passed a challenge. A code that an identity system handed over has
-- "is_handed": true besides.

-- The guard judges SMS and calls alone: they cost money, which is paid to somebody else's network.
CREATE OR REPLACE FUNCTION is_guarded(p_channel text, p_guard jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_guard IS NOT NULL AND p_channel IN ('sms', 'voice')
$$;

-- Return whether a send must not be made: a finding refuses it, or the rules on prefixes and networks find something now.
--
-- The prefix rule: more than `numbers` distinct unverified numbers within the window share all but their last 4 digits.
-- A number is unverified if no session/verify of it came after the send. session/check does not count: anybody with the
-- app's key can call it, while session/verify needs the project's secret key.
--
-- The rule is judged here, as it must stop an attack at its eleventh number. It costs one range of an index that holds
-- unverified sends alone: in enforce mode there are hardly more than `numbers` of them. While a finding runs, nothing
-- is counted at all. Uncommitted sends are not seen, so the sends in flight may overshoot the limit. The end or the
-- lifting of a finding is the start of a new count. In observe mode all is noted and nothing is refused.
--
-- The rule on networks is judged by network_of_many_countries. While the project is new, the finding about a country is
-- noted and nothing follows from it.
--
-- Who passed a challenge gets through a finding in a small quota: see guard_lets_through. A known number passes the
-- rules on prefixes and countries: see guard_knows. A finding about a caller's network is the caller's, whoever is asked for.
CREATE OR REPLACE FUNCTION guard_refuses(p_project bigint, p_recipient bigint, p_guard jsonb, p_now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_rule constant text := p_guard ->> 'rule';
    v_prefix constant text := p_guard ->> 'prefix';
    v_limit constant integer := p_guard ->> 'numbers';
    v_since timestamptz := p_now - make_interval(secs => (p_guard ->> 'window')::integer);
    v_finding verification_guardblock;
    v_network constant text := CASE WHEN v_rule = 'prefix' THEN coalesce(p_guard ->> 'network', '') ELSE '' END;
    v_network_since timestamptz := p_now - interval '1 day';
    v_numbers integer;
    v_figures jsonb;
BEGIN
    FOR v_finding IN
        SELECT * FROM verification_guardblock
        WHERE project_id = p_project
          AND subject IN (v_prefix, p_guard ->> 'country', v_network)
          AND (rule = v_rule OR v_rule = 'prefix' AND rule IN ('conversion', 'network_countries'))
    LOOP
        IF v_finding.lifted_at IS NULL AND v_finding.until > p_now AND v_finding.since <= latest_past(p_now)
           AND NOT (coalesce((p_guard -> 'passed')::boolean, false) AND guard_lets_through(v_finding, p_now))
        THEN
            IF v_finding.rule <> 'network_countries' AND guard_knows(p_project, p_recipient, p_guard, p_now) THEN
                RETURN false;
            END IF;
            UPDATE verification_guardblock SET refused = refused + 1 WHERE id = v_finding.id;
            IF v_finding.rule = 'conversion' AND (p_guard -> 'observes_countries')::boolean THEN
                PERFORM note_guarded(p_project, p_guard || '{"enforce": false}', v_finding.rule, v_finding.figures);
                CONTINUE;
            END IF;
            PERFORM note_guarded(p_project, p_guard, v_finding.rule, v_finding.figures);
            RETURN (p_guard -> 'enforce')::boolean;
        END IF;
        IF v_finding.rule = v_rule THEN
            v_since := greatest(v_since, least(coalesce(v_finding.lifted_at, v_finding.until), p_now));
        ELSIF v_finding.rule = 'network_countries' THEN
            v_network_since := greatest(v_network_since, least(coalesce(v_finding.lifted_at, v_finding.until), p_now));
        END IF;
    END LOOP;

    v_figures := CASE WHEN v_network <> '' THEN
        network_of_many_countries(p_project, v_network, p_guard, v_network_since, p_now)
    END;
    IF v_figures IS NOT NULL THEN
        PERFORM guard_block(
            p_project, 'network_countries', v_network, 1, v_figures,
            (p_guard ->> 'block')::integer, (p_guard ->> 'block_max')::integer, (p_guard ->> 'quiet')::integer, p_now
        );
        PERFORM note_guarded(p_project, p_guard, 'network_countries', v_figures);
        RETURN (p_guard -> 'enforce')::boolean;
    END IF;

    IF v_limit = 0 THEN
        RETURN false;
    END IF;
    SELECT 1 + count(DISTINCT recipient_id) INTO v_numbers
    FROM verification_guardedsend
    WHERE project_id = p_project
      AND prefix = v_prefix
      AND verified_at IS NULL
      AND created_at > v_since
      AND created_at <= latest_past(p_now)
      AND recipient_id <> p_recipient
      AND (is_manual = (v_rule = 'manual_prefix') OR (p_guard -> 'counts_all')::boolean);
    IF v_numbers <= v_limit OR guard_knows(p_project, p_recipient, p_guard, p_now) THEN
        RETURN false;
    END IF;
    v_figures := jsonb_build_object(
        'numbers', v_numbers, 'limit', v_limit, 'minutes', (p_guard ->> 'window')::integer / 60
    );
    PERFORM guard_block(
        p_project, v_rule, v_prefix, 1, v_figures,
        (p_guard ->> 'block')::integer, (p_guard ->> 'block_max')::integer, (p_guard ->> 'quiet')::integer, p_now
    );
    PERFORM note_guarded(p_project, p_guard, v_rule, v_figures);  -- after the finding: rows are locked in this order
    RETURN (p_guard -> 'enforce')::boolean;
END
$$;

-- The rule on networks: return its figures if a send to the guard's country would be one too many of this client network,
-- else null. It is one too many if the network asked for numbers of more countries than allowed, this one included, since
-- p_since, and of its sends a smaller share is verified than is asked of a country. People of one household or one
-- company seldom need numbers of four countries. Where they do, or where many share an address, they type their codes.
--
-- Of a network's sends the newest 100 are read, so that a back end whose address the project has not listed costs no more
-- than anybody else. Those of the moment count: who asks for four countries at once has verified nothing yet.
CREATE OR REPLACE FUNCTION network_of_many_countries(
    p_project bigint, p_network text, p_guard jsonb, p_since timestamptz, p_now timestamptz
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_most_read constant integer := 100;
    v_limit constant integer := (p_guard ->> 'network_countries')::integer;
    v_found record;
BEGIN
    IF v_limit = 0 THEN
        RETURN NULL;
    END IF;
    SELECT count(*) + 1 AS sends, count(verified_at) AS verified,
           count(DISTINCT country) + CASE WHEN bool_or(country = p_guard ->> 'country') THEN 0 ELSE 1 END AS countries
    INTO v_found
    FROM (
        SELECT country, verified_at FROM verification_guardedsend
        WHERE project_id = p_project AND network = p_network AND network <> ''
          AND created_at > p_since AND created_at <= latest_past(p_now) AND NOT is_manual
        ORDER BY created_at DESC LIMIT v_most_read
    ) AS send;
    IF v_found.countries <= v_limit
       OR v_found.verified * 100 >= v_found.sends * (p_guard ->> 'least_percent')::integer
    THEN
        RETURN NULL;
    END IF;
    RETURN jsonb_build_object(
        'sends', v_found.sends, 'countries', v_found.countries, 'verified', v_found.verified, 'limit', v_limit
    );
END
$$;

-- Return whether what the guard would refuse passes, as the recipient is known: the customer's server proved the number
-- within the project's days, by a redeemed token or by its report. Nobody else can make a number known. Whoever owns the
-- number might still be paid for what it is sent, so 10 SMS and calls a day pass, whatever the project's own limits are. The
-- decision log notes it, with the time since when the number is known.
CREATE OR REPLACE FUNCTION guard_knows(p_project bigint, p_recipient bigint, p_guard jsonb, p_now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_most constant integer := 10;
    v_since constant timestamptz := known_since(p_recipient, (p_guard ->> 'known_days')::integer, p_now);
BEGIN
    IF v_since IS NULL OR v_most <= (
        SELECT count(*) FROM (
            SELECT FROM verification_message
            WHERE recipient_id = p_recipient AND created_at > p_now - interval '1 day' AND is_counted
              AND channel IN ('sms', 'voice')
            LIMIT v_most
        ) AS passed
    ) THEN
        RETURN false;
    END IF;
    PERFORM note_decision(
        p_project, 'known_number', p_guard ->> 'masked', p_guard ->> 'country', 0,
        jsonb_build_object('known_since', to_char(v_since AT TIME ZONE 'UTC', 'YYYY-MM-DD'))
    );
    RETURN true;
END
$$;

-- Since when the recipient is known without a gap; null for one who is not, or no longer. p_days of 0 or null know nobody.
CREATE OR REPLACE FUNCTION known_since(p_recipient bigint, p_days integer, p_now timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT recipient.known_since FROM verification_recipient AS recipient
    WHERE recipient.id = p_recipient AND p_days > 0 AND recipient.known_at > p_now - make_interval(days => p_days)
$$;

CREATE OR REPLACE FUNCTION is_known_address(p_project bigint, p_address text, p_days integer)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM verification_recipient AS recipient
        WHERE recipient.project_id = p_project AND recipient.address = p_address
          AND known_since(recipient.id, p_days, now()) IS NOT NULL
    )
$$;

-- Note that the customer's server proved the recipient. It is written once a day: somebody's lock is not waited for, as their
-- next proof makes good what this one does not write.
CREATE OR REPLACE FUNCTION note_known(p_project bigint, p_recipient bigint, p_now timestamptz)
RETURNS void LANGUAGE sql AS $$
    UPDATE verification_recipient AS recipient SET
        known_since = CASE
            WHEN known_at > p_now - make_interval(days => greatest(project.guard_known_days, 1)) THEN known_since
            ELSE p_now
        END,
        known_at = p_now
    FROM verification_project AS project
    WHERE project.id = p_project AND recipient.id = (
        SELECT id FROM verification_recipient
        WHERE id = p_recipient AND (known_at IS NULL OR known_at NOT BETWEEN p_now - interval '1 day' AND p_now)
        FOR NO KEY UPDATE SKIP LOCKED
    )
$$;

-- Return whether a finding lets one more send through to whoever passed a challenge. A stranger with the API key can bring
-- a finding about; so it must not keep out everybody of a prefix or country. But challenges are solved by machines and
-- for money too: so only 5 unverified sends of half an hour pass a finding, 240 a day. What is verified does not count,
-- so people hardly use it up, and pumping does. The finding's row is locked, so the count is exact.
CREATE OR REPLACE FUNCTION guard_lets_through(p_finding verification_guardblock, p_now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_most constant integer := 5;
    v_since constant timestamptz := greatest(p_finding.since, p_now - interval '30 minutes');
BEGIN
    PERFORM FROM verification_guardblock WHERE id = p_finding.id FOR NO KEY UPDATE;
    RETURN v_most > CASE WHEN p_finding.rule = 'conversion' THEN (
        SELECT count(*) FROM (
            SELECT FROM verification_guardedsend
            WHERE project_id = p_finding.project_id AND country = p_finding.subject AND verified_at IS NULL
              AND NOT is_manual AND created_at > v_since AND created_at <= latest_past(p_now)
            LIMIT v_most
        ) AS unverified
    ) WHEN p_finding.rule = 'network_countries' THEN (
        SELECT count(*) FROM (
            SELECT FROM verification_guardedsend
            WHERE project_id = p_finding.project_id AND network = p_finding.subject AND network <> ''
              AND verified_at IS NULL
              AND NOT is_manual AND created_at > v_since AND created_at <= latest_past(p_now)
            LIMIT v_most
        ) AS unverified
    ) ELSE (
        SELECT count(*) FROM (
            SELECT FROM verification_guardedsend
            WHERE project_id = p_finding.project_id AND prefix = p_finding.subject AND verified_at IS NULL
              AND NOT is_manual AND created_at > v_since AND created_at <= latest_past(p_now)
            LIMIT v_most
        ) AS unverified
    ) END;
END
$$;

-- Note one send that the guard refuses, or would refuse, in the decision log. It counts as a refused request unless it
-- is only observed or goes out over another channel. The subject is written as findings.subject_of does.
CREATE OR REPLACE FUNCTION note_guarded(p_project bigint, p_guard jsonb, p_rule text, p_figures jsonb)
RETURNS void LANGUAGE sql AS $$
    SELECT note_decision(
        p_project,
        p_rule,
        CASE WHEN p_rule = 'conversion' THEN coalesce(nullif(p_guard ->> 'country', ''), 'no country')
             WHEN p_rule = 'network_countries' THEN p_guard ->> 'network'
             ELSE p_guard ->> 'prefix' || '…' END,
        p_guard ->> 'country',
        CASE WHEN (p_guard -> 'enforce')::boolean AND NOT coalesce((p_guard -> 'goes_elsewhere')::boolean, false)
             THEN 1 ELSE 0 END,
        p_figures
    )
$$;

-- Make a refusing finding about a subject, unless one runs. Times are in seconds. Each repeat lasts twice as long as
-- the last one, until p_quiet seconds have gone by since a finding's end. After one that was lifted, the next is a
-- first one.
CREATE OR REPLACE FUNCTION guard_block(
    p_project bigint, p_rule text, p_subject text, p_refused integer, p_figures jsonb, p_block integer,
    p_block_max integer, p_quiet integer, p_now timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_highest_level constant integer := 16;  -- caps the exponent: a minute has become a week by then
BEGIN
    INSERT INTO verification_guardblock AS block (
        project_id, rule, subject, level, since, until, figures, refused, is_announced
    ) VALUES (
        p_project, p_rule, p_subject, 1, p_now, p_now + make_interval(secs => least(p_block, p_block_max)), p_figures,
        p_refused, false
    )
    ON CONFLICT (project_id, subject, rule) DO UPDATE SET
        (level, until) = (
            SELECT next.level, p_now + make_interval(secs => least(p_block * 2.0 ^ (next.level - 1), p_block_max))
            FROM (SELECT CASE
                WHEN block.lifted_at IS NOT NULL OR block.until <= p_now - make_interval(secs => p_quiet) THEN 1
                ELSE least(block.level + 1, v_highest_level)
            END) AS next (level)
        ),
        since = excluded.since,
        figures = excluded.figures,
        refused = excluded.refused,
        is_announced = false,
        lifted_at = NULL,
        lifted_by_id = NULL
    WHERE block.lifted_at IS NOT NULL OR block.until <= p_now OR block.since > latest_past(p_now);
    IF NOT FOUND THEN  -- another request was faster
        UPDATE verification_guardblock SET refused = refused + p_refused
        WHERE project_id = p_project AND subject = p_subject AND rule = p_rule;
    END IF;
END
$$;
