-- The workers' sweep, every few seconds and apart from any request: it looks for countries whose codes hardly anybody
-- verifies, and for guessing. The rule on countries needs sends whose sessions are over, so a few seconds more lose
-- nothing. No request has to read an hour of rows. One worker at a time sweeps; the others return at once.
-- A project that cannot be judged is returned, with the code of the error, and keeps no other from being judged.
CREATE OR REPLACE FUNCTION sweep_guard() RETURNS TABLE (project_id bigint, fault text) LANGUAGE plpgsql AS $$
DECLARE
    v_lock constant bigint := 7294002;  -- an advisory lock of our own
    v_now constant timestamptz := clock_timestamp();
    v_project verification_project;
    v_is_day_due boolean;
BEGIN
    IF NOT pg_try_advisory_xact_lock(v_lock) THEN
        RETURN;
    END IF;
    -- The rule on the day reads a day of rows, so it is judged once a minute.
    v_is_day_due := NOT EXISTS (
        SELECT FROM verification_upkeep
        WHERE name = 'guard_day' AND started_at > v_now - interval '1 minute' AND started_at <= v_now
    );
    FOR v_project IN SELECT * FROM verification_project WHERE is_enabled ORDER BY id LOOP
        BEGIN
            IF v_project.traffic_guard <> 'off' AND v_project.guard_country_sends > 0 THEN
                PERFORM judge_countries(v_project, v_now);
            END IF;
            IF v_is_day_due AND v_project.traffic_guard <> 'off' AND v_project.guard_country_day > 0 THEN
                PERFORM judge_day(v_project, v_now);
            END IF;
            PERFORM judge_guesses(v_project, v_now);
        EXCEPTION WHEN OTHERS THEN
            project_id := v_project.id;
            fault := SQLSTATE;
            RETURN NEXT;
        END;
    END LOOP;
    -- Whoever watches the service sees by this that the guard still sweeps.
    INSERT INTO verification_upkeep AS upkeep (name, started_at, finished_at)
    SELECT name, v_now, clock_timestamp() FROM unnest(ARRAY['guard', CASE WHEN v_is_day_due THEN 'guard_day' END]) AS due (name)
    WHERE name IS NOT NULL
    ON CONFLICT (name) DO UPDATE SET started_at = excluded.started_at, finished_at = excluded.finished_at;
END
$$;

-- Return whether the codes that an identity system handed over count in the conversion: whether the customer's server has
-- reported a verified user within the last day. Of a project that never reports, all would look unverified.
CREATE OR REPLACE FUNCTION counts_handed(p_project bigint, p_now timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM verification_project WHERE id = p_project AND reported_at > p_now - interval '1 day')
$$;

-- What the conversion rule judges in a country: the sessions' SMS and calls of the last minutes. Only sends whose session
-- is over count. Sends before the end or the lifting of the country's last finding are not counted again.
-- Codes that an identity system handed over count where counts_handed says so.
CREATE OR REPLACE FUNCTION sends_by_country(p_project verification_project, p_minutes integer, p_now timestamptz)
RETURNS TABLE (country text, sends bigint, verified bigint, since timestamptz, until timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT send.country, count(*), count(send.verified_at), min(send.created_at), max(send.created_at)
    FROM verification_guardedsend AS send
    LEFT JOIN verification_guardblock AS block
        ON block.project_id = p_project.id AND block.subject = send.country AND block.rule = 'conversion'
    WHERE send.project_id = p_project.id
      AND send.created_at > p_now - make_interval(mins => p_minutes)
      AND (
          send.created_at <= p_now - longest_session()
          OR (SELECT expires_at FROM verification_message AS message WHERE message.id = send.message_id) <= p_now
      )
      AND send.created_at > coalesce(block.lifted_at, block.until, '-infinity')
      AND NOT send.is_manual
      AND (NOT send.is_handed OR (SELECT counts_handed(p_project.id, p_now)))
    GROUP BY send.country
$$;

-- The figures of the conversion rule, with what a provider that fails there did not deliver.
CREATE OR REPLACE FUNCTION conversion_figures(
    p_project verification_project, p_minutes integer, p_sends bigint, p_verified bigint, p_undelivered bigint
) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object(
        'sends', p_sends, 'verified', p_verified, 'percent', floor(p_verified * 100.0 / p_sends),
        'limit', p_project.guard_country_percent, 'minutes', p_minutes
    ) || CASE WHEN p_undelivered > 0 THEN jsonb_build_object('undelivered', p_undelivered) ELSE '{}' END
$$;

-- The conversion rule: too few of the sends to a country within the window were proved by session/verify. Below the limit
-- the country is refused, below twice the limit it is watched.
-- What a provider that fails there did not deliver is left out before the country is refused. If the rest is no reason
-- to refuse, the country is watched.
CREATE OR REPLACE FUNCTION judge_countries(p_project verification_project, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_minutes constant integer := p_project.guard_country_minutes;
    v_window constant interval := make_interval(mins => v_minutes);
    v_found record;
    v_undelivered bigint;
    v_figures jsonb;
BEGIN
    FOR v_found IN
        SELECT * FROM sends_by_country(p_project, v_minutes, p_now)
        WHERE sends >= p_project.guard_country_sends
          AND verified * 100 < sends * least(2 * p_project.guard_country_percent, 100)
    LOOP
        v_undelivered := 0;
        IF v_found.verified * 100 < v_found.sends * p_project.guard_country_percent THEN
            v_undelivered := lost_by_a_provider(
                p_project, v_found.country, v_found.since, v_found.until, v_found.sends, p_now
            );
        END IF;
        v_figures := conversion_figures(p_project, v_minutes, v_found.sends, v_found.verified, v_undelivered);
        IF v_found.verified * 100 < (v_found.sends - v_undelivered) * p_project.guard_country_percent
            AND v_found.sends - v_undelivered >= p_project.guard_country_sends
        THEN
            PERFORM guard_block(
                p_project.id, 'conversion', v_found.country, 0, v_figures, p_project.guard_block_minutes * 60,
                p_project.guard_block_max_minutes * 60, p_project.guard_quiet_hours * 3600, p_now
            );
        ELSIF NOT EXISTS (
            SELECT FROM verification_guardblock
            WHERE project_id = p_project.id AND subject = v_found.country AND rule = 'low_conversion'
              AND lifted_at > p_now - v_window
        ) THEN
            PERFORM guard_watch(p_project.id, 'low_conversion', v_found.country, v_figures, v_window, p_now);
        END IF;
    END LOOP;
END
$$;

-- The same rule for a day, which sees what stays below the least number of an hour: a country with more unverified sends
-- than the project's floor of a day, of whose sends too few were verified, is refused. In a small country an attack of 20
-- an hour is seen by nothing else, while its honest people leave few codes unverified in a day.
-- What a provider that fails there did not deliver is left out, as by the hour.
CREATE OR REPLACE FUNCTION judge_day(p_project verification_project, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_minutes constant integer := 24 * 60;
    v_found record;
    v_undelivered bigint;
BEGIN
    p_project.guard_country_minutes := v_minutes;  -- for lost_by_a_provider, which compares with so long a time
    FOR v_found IN
        SELECT * FROM sends_by_country(p_project, v_minutes, p_now)
        WHERE sends - verified > p_project.guard_country_day
          AND verified * 100 < sends * p_project.guard_country_percent
    LOOP
        v_undelivered := lost_by_a_provider(
            p_project, v_found.country, v_found.since, v_found.until, v_found.sends, p_now
        );
        IF v_found.sends - v_undelivered - v_found.verified > p_project.guard_country_day
            AND v_found.verified * 100 < (v_found.sends - v_undelivered) * p_project.guard_country_percent
        THEN
            PERFORM guard_block(
                p_project.id, 'conversion', v_found.country, 0,
                conversion_figures(p_project, v_minutes, v_found.sends, v_found.verified, v_undelivered),
                p_project.guard_block_minutes * 60, p_project.guard_block_max_minutes * 60,
                p_project.guard_quiet_hours * 3600, p_now
            );
        END IF;
    END LOOP;
END
$$;

-- Return how many of a country's unverified sends did not arrive because their provider fails there: sends that a rule
-- on pumping must not count. 0 where nothing proves it.
--
-- A receipt alone proves nothing: whoever pumps may ask for codes to made-up numbers, or own the network that reports
-- what it likes. So a provider is judged by people who are known: numbers that the project has had for a week and that
-- a right code once came from. It fails if of 10 or more of these that it was to reach, more than half got nothing.
-- A send arrived if its message did, or if it was verified. What arrived is counted in any case, so that numbers which
-- earn by what is delivered to them are refused as ever. And nothing is left out where the sends are more than three
-- times the most users that the country had verified in an hour of the last week: a provider's fault makes users ask
-- again, and no more of them. So whoever prepares ten numbers for a week gains no more than that.
CREATE OR REPLACE FUNCTION lost_by_a_provider(
    p_project verification_project, p_country text, p_since timestamptz, p_until timestamptz, p_sends bigint,
    p_now timestamptz
) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_week constant interval := '7 days';
    v_least_known constant integer := 10;
    v_surge constant integer := 3;  -- times the busiest hour; a session has up to five sends, and most users ask twice
    v_usual bigint;
    v_lost bigint;
BEGIN
    SELECT max(verified) INTO v_usual
    FROM (
        SELECT sum(sessions_verified) AS verified
        FROM verification_hourlyfigures
        WHERE project_id = p_project.id AND country = p_country AND channel IN ('sms', 'voice')
          AND hour > p_now - v_week AND hour <= p_now
        GROUP BY hour
    ) AS hours;
    IF p_sends * 60 > coalesce(v_usual, 0) * v_surge * greatest(p_project.guard_country_minutes, 60) THEN
        RETURN 0;
    END IF;
    WITH send AS (
        SELECT one.recipient_id, message.provider_id,
               one.verified_at IS NOT NULL OR message.status = 'success' AS has_arrived,
               recipient.verified_at IS NOT NULL AND recipient.created_at < one.created_at - v_week AS is_known
        FROM verification_guardedsend AS one
        JOIN verification_message AS message ON message.id = one.message_id
        JOIN verification_recipient AS recipient ON recipient.id = one.recipient_id
        WHERE one.project_id = p_project.id AND one.country = p_country AND NOT one.is_manual
          AND (NOT one.is_handed OR counts_handed(p_project.id, p_now))
          AND one.created_at >= p_since AND one.created_at <= p_until AND message.expires_at <= p_now
    ), failing AS (
        SELECT provider_id
        FROM (
            SELECT provider_id, recipient_id, bool_or(has_arrived) AS has_arrived
            FROM send WHERE is_known AND provider_id IS NOT NULL
            GROUP BY provider_id, recipient_id
        ) AS known
        GROUP BY provider_id
        HAVING count(*) >= v_least_known AND 2 * count(*) FILTER (WHERE NOT has_arrived) > count(*)
    )
    SELECT count(*) INTO v_lost FROM send JOIN failing USING (provider_id) WHERE NOT has_arrived;
    RETURN v_lost;
END
$$;

-- The rules on guessing, each judged from the wrong codes of the window:
--   wrong_codes   many in the project, and many more than right ones
--   network       many recipients from one client network; from twice as many on, it is kept from checking
--   strangers     more in all than right codes explain; judge_stranger refuses already, and this tells the owner.
--   same_guess    one value tried on many sessions, a way around the tries of each (inverted guessing); a single network
--                 that does so has no honest reason and is kept from checking
-- The network is empty for callers who share an address: loopback, private addresses, and the customer's own servers.
CREATE OR REPLACE FUNCTION judge_guesses(p_project verification_project, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_window constant interval := make_interval(mins => p_project.guess_minutes);
    v_begin constant timestamptz := p_now - v_window;
    v_most_told constant integer := 100000;
    v_strangers_window constant interval := '5 minutes';  -- as in strangers_wrong_codes
    v_since timestamptz;
    v_strangers integer;
    v_wrong bigint;
    v_right bigint;
    v_found record;
    v_figures jsonb;
BEGIN
    IF NOT EXISTS (
        SELECT FROM verification_wrongcode WHERE project_id = p_project.id AND created_at > v_begin
    ) THEN
        RETURN;
    END IF;

    v_strangers := strangers_wrong_codes(p_project.id, p_project.guess_assumed, v_most_told, p_now);
    IF p_project.guess_assumed > 0 AND v_strangers > p_project.guess_assumed THEN
        PERFORM guard_watch(
            p_project.id, 'strangers', '',
            jsonb_build_object('wrong', v_strangers, 'limit', p_project.guess_assumed,
                               'minutes', extract(epoch FROM v_strangers_window)::integer / 60),
            v_strangers_window, p_now
        );
    END IF;

    v_since := greatest(v_begin, (
        SELECT lifted_at FROM verification_guardblock
        WHERE project_id = p_project.id AND subject = '' AND rule = 'wrong_codes'
    ));
    SELECT count(*) INTO v_wrong
    FROM verification_wrongcode
    WHERE project_id = p_project.id AND created_at > v_since AND created_at <= latest_past(p_now);
    IF p_project.guess_wrong_checks > 0 AND v_wrong > p_project.guess_wrong_checks THEN
        SELECT count(*) INTO v_right
        FROM verification_session
        WHERE project_id = p_project.id AND created_at > v_since - longest_session() AND verified_at > v_since;
        IF v_wrong * 100 > (v_wrong + v_right) * p_project.guess_wrong_percent THEN
            PERFORM guard_watch(
                p_project.id, 'wrong_codes', '',
                jsonb_build_object('wrong', v_wrong, 'right', v_right, 'limit', p_project.guess_wrong_checks,
                                   'minutes', p_project.guess_minutes),
                v_window, p_now
            );
        END IF;
    END IF;

    FOR v_found IN
        SELECT wrong.network, count(DISTINCT wrong.recipient_id) AS recipients
        FROM verification_wrongcode AS wrong
        LEFT JOIN verification_guardblock AS block
            ON block.project_id = p_project.id AND block.subject = wrong.network AND block.rule = 'network_refused'
        LEFT JOIN verification_guardblock AS finding
            ON finding.project_id = p_project.id AND finding.subject = wrong.network AND finding.rule = 'network'
        WHERE wrong.project_id = p_project.id
          AND wrong.created_at > v_begin
          AND wrong.created_at <= latest_past(p_now)
          AND wrong.created_at > coalesce(greatest(coalesce(block.lifted_at, block.until), finding.lifted_at), v_begin)
          AND wrong.network <> ''
          AND p_project.guess_network_recipients > 0
        GROUP BY wrong.network
        HAVING count(DISTINCT wrong.recipient_id) > p_project.guess_network_recipients
    LOOP
        v_figures := jsonb_build_object(
            'recipients', v_found.recipients, 'limit', p_project.guess_network_recipients,
            'minutes', p_project.guess_minutes
        );
        PERFORM guard_watch(p_project.id, 'network', v_found.network, v_figures, v_window, p_now);
        IF v_found.recipients > 2 * p_project.guess_network_recipients THEN
            PERFORM refuse_network(p_project, v_found.network, v_figures, p_now);
        END IF;
    END LOOP;

    FOR v_found IN
        SELECT left(encode(wrong.guess, 'hex'), 12) AS subject, wrong.network,
               count(DISTINCT wrong.session_id) AS sessions
        FROM verification_wrongcode AS wrong
        LEFT JOIN verification_guardblock AS block
            ON block.project_id = p_project.id AND block.subject = wrong.network AND block.rule = 'network_refused'
        LEFT JOIN verification_guardblock AS finding
            ON finding.project_id = p_project.id AND finding.subject = left(encode(wrong.guess, 'hex'), 12)
            AND finding.rule = 'same_guess'
        WHERE wrong.project_id = p_project.id
          AND wrong.created_at > v_begin
          AND wrong.created_at <= latest_past(p_now)
          AND wrong.created_at > coalesce(greatest(coalesce(block.lifted_at, block.until), finding.lifted_at), v_begin)
          AND wrong.guess IS NOT NULL
          AND p_project.guess_same_value_sessions > 0
        GROUP BY GROUPING SETS ((wrong.guess), (wrong.guess, wrong.network))
        HAVING count(DISTINCT wrong.session_id) > p_project.guess_same_value_sessions
    LOOP
        v_figures := jsonb_build_object(
            'sessions', v_found.sessions, 'limit', p_project.guess_same_value_sessions,
            'minutes', p_project.guess_minutes
        );
        IF v_found.network IS NULL THEN  -- all networks together
            PERFORM guard_watch(p_project.id, 'same_guess', v_found.subject, v_figures, v_window, p_now);
        ELSIF v_found.network <> '' THEN
            PERFORM refuse_network(p_project, v_found.network, v_figures, p_now);
        END IF;
    END LOOP;
END
$$;

-- Keep a client network from checking codes, for as long as a refused prefix or country is refused.
CREATE OR REPLACE FUNCTION refuse_network(
    p_project verification_project, p_network text, p_figures jsonb, p_now timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM guard_block(
        p_project.id, 'network_refused', p_network, 0, p_figures, p_project.guard_block_minutes * 60,
        p_project.guard_block_max_minutes * 60, p_project.guard_quiet_hours * 3600, p_now
    );
END
$$;

-- Make a subject suspicious for p_for from now, and anew each time that it is found again. The last figures are kept.
CREATE OR REPLACE FUNCTION guard_watch(
    p_project bigint, p_rule text, p_subject text, p_figures jsonb, p_for interval, p_now timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO verification_guardblock AS finding (
        project_id, rule, subject, level, since, until, figures, refused, is_announced
    ) VALUES (p_project, p_rule, p_subject, 1, p_now, p_now + p_for, p_figures, 0, false)
    ON CONFLICT (project_id, subject, rule) DO UPDATE SET
        (since, is_announced) = (
            SELECT CASE WHEN running THEN finding.since ELSE p_now END, running AND finding.is_announced
            FROM (SELECT finding.lifted_at IS NULL AND finding.until > p_now) AS state (running)
        ),
        until = excluded.until,
        figures = excluded.figures,
        lifted_at = NULL,
        lifted_by_id = NULL;
END
$$;

-- Return whether a send to this number is suspicious: a finding about its prefix or country runs, or its prefix has half
-- as many unverified numbers as the prefix rule allows. p_guard are the terms of guard_terms (traffic_guard.sql).
CREATE OR REPLACE FUNCTION guard_is_wary(p_project bigint, p_guard jsonb) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM verification_guardblock
        WHERE project_id = p_project
          AND subject IN (p_guard ->> 'prefix', p_guard ->> 'country')
          AND lifted_at IS NULL
          AND until > now()
    ) OR (p_guard ->> 'numbers')::integer > 0 AND 2 * (
        SELECT count(DISTINCT send.recipient_id) FROM verification_guardedsend AS send
        WHERE send.project_id = p_project
          AND send.prefix = p_guard ->> 'prefix'
          AND send.verified_at IS NULL
          AND send.created_at > now() - make_interval(secs => (p_guard ->> 'window')::integer)
          AND (NOT send.is_manual OR (p_guard -> 'counts_all')::boolean)
    ) >= (p_guard ->> 'numbers')::integer;
END
$$;
