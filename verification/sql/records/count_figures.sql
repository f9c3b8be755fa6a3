-- Figures that last, counted from the rows of an hour. Everything here may run again at any time: the same rows give the
-- same figures. Rows that fit no longer are removed, and rows that are right already are not written.

-- Return the beginning of a number that names its country. Most calling codes have one country; 3 digits hold them. The
-- others are shared, and as many digits follow as tell their countries apart, but never the last 4. Empty for what is no
-- number.
CREATE OR REPLACE FUNCTION number_area(p_address text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(p_address, least(length(p_address) - 4, CASE
        WHEN left(p_address, 1) <> '+' THEN 0
        WHEN p_address ~ '^\+(39|44|61|590)' THEN 9
        WHEN p_address ~ '^\+(212|262|358)' THEN 8
        WHEN p_address ~ '^\+(1|47|290|599)' THEN 5
        ELSE 4
    END))
$$;

-- The bucket of a duration, from 1. The first ends at 0.1 seconds, and each further one is wider by a third of an octave;
-- the last holds all that is longer than 10 minutes. Null for null.
CREATE OR REPLACE FUNCTION time_bucket(p_time interval) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_time IS NOT NULL THEN least(40, 1 + greatest(0, ceil(
        3 * ln(greatest(extract(epoch FROM p_time)::double precision, 0.001) / 0.1) / ln(2.0::double precision)
    )::integer)) END
$$;

-- Count how many of the given buckets are 1, 2, and so on up to 40. Null where there are none.
CREATE OR REPLACE FUNCTION histogram(p_buckets integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_buckets IS NOT NULL THEN ARRAY(
        SELECT count(bucket)::integer
        FROM generate_series(1, 40) AS place LEFT JOIN unnest(p_buckets) AS bucket ON bucket = place
        GROUP BY place ORDER BY place
    ) END
$$;

CREATE OR REPLACE FUNCTION add_histogram(p_one integer[], p_other integer[])
RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_one IS NULL THEN p_other WHEN p_other IS NULL THEN p_one ELSE ARRAY(
        SELECT one + other FROM unnest(p_one, p_other) WITH ORDINALITY AS pair (one, other, place) ORDER BY place
    ) END
$$;

CREATE OR REPLACE AGGREGATE sum_histograms(integer[]) (SFUNC = add_histogram, STYPE = integer[]);

-- The projects whose rows since this time are all still there.
CREATE OR REPLACE FUNCTION countable_projects(p_since timestamptz) RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
    SELECT project.id
    FROM verification_project AS project
    LEFT JOIN verification_purgedrows AS purged ON purged.project_id = project.id
    WHERE project.deleted_at IS NULL AND (purged.before IS NULL OR purged.before <= p_since)
$$;

-- Count one hour of all projects. Nothing is written while the country of a number's area is unknown: the areas are
-- returned, each with some of its numbers. The caller notes their countries in verification_numberarea and calls again.
-- One at a time counts, so that an older snapshot never overwrites a newer one.
-- Each statement is planned for the time that it is given: one plan for any time guesses that an hour holds a part of the
-- whole table, and reads all of it.
CREATE OR REPLACE FUNCTION count_hour(p_hour timestamptz) RETURNS TABLE (area text, samples text[])
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    v_lock constant bigint := 7294005;  -- an advisory lock of our own
    v_end constant timestamptz := p_hour + interval '1 hour';
BEGIN
    PERFORM pg_advisory_xact_lock(v_lock);
    RETURN QUERY
    WITH project AS MATERIALIZED (
        SELECT countable.id, counts_handed(countable.id, v_end) AS is_reporting
        FROM countable_projects(p_hour) AS countable (id)
    ), message AS MATERIALIZED (
        SELECT m.*, m.created_at < v_end AS is_of_hour, m.session_id IS NULL AND NOT project.is_reporting AS is_manual
        FROM project CROSS JOIN LATERAL (
            SELECT id, project_id, session_id, recipient_id, channel, language, coalesce(provider_id, 0) AS provider_id,
                   status, created_at, sent_at, finished_at, fallback_of_id, verified_at
            FROM verification_message
            WHERE project_id = project.id AND created_at >= p_hour AND created_at < v_end + longest_session()
              AND NOT is_test
        ) AS m
    ), session AS MATERIALIZED (
        SELECT s.*
        FROM project CROSS JOIN LATERAL (
            SELECT id, project_id, recipient_id, language, attempts, created_at, verified_at
            FROM verification_session
            WHERE project_id = project.id AND created_at >= p_hour AND created_at < v_end AND NOT is_test
        ) AS s
    ), recipient AS MATERIALIZED (
        SELECT one.id, one.address, number_area(one.address) AS area
        FROM verification_recipient AS one
        WHERE one.id IN (SELECT recipient_id FROM session UNION SELECT recipient_id FROM message WHERE is_of_hour)
    ), place AS MATERIALIZED (
        SELECT recipient.id, recipient.address, recipient.area, known.country
        FROM recipient LEFT JOIN verification_numberarea AS known ON known.area = recipient.area
    ), unknown AS MATERIALIZED (
        SELECT place.area, (array_agg(place.address::text ORDER BY place.address))[1:5] AS samples
        FROM place WHERE place.area <> '' AND place.country IS NULL
        GROUP BY place.area
    ), last_message AS (
        SELECT DISTINCT ON (session_id)
            session_id, channel, provider_id,
            count(*) OVER of_session AS messages,
            bool_or(sent_at IS NOT NULL) OVER of_session AS is_sent,
            bool_or(status = 'success') OVER of_session AS is_delivered
        FROM message WHERE session_id IS NOT NULL
        WINDOW of_session AS (PARTITION BY session_id)
        ORDER BY session_id, (sent_at IS NOT NULL) DESC, created_at DESC, id DESC
    ), fact AS (
        SELECT session.project_id, coalesce(last_message.channel, '') AS channel,
               coalesce(last_message.provider_id, 0) AS provider_id, coalesce(place.country, '') AS country,
               session.language, false AS is_manual,
               1 AS sessions, coalesce(is_sent, false)::integer AS sessions_sent,
               coalesce(is_delivered, false)::integer AS sessions_delivered,
               (session.attempts > 0)::integer AS sessions_checked,
               (session.verified_at IS NOT NULL)::integer AS sessions_verified,
               (session.verified_at IS NOT NULL AND EXISTS (
                   SELECT FROM verification_verifytoken AS token
                   WHERE token.session_id = session.id AND token.used_at IS NOT NULL
               ))::integer AS sessions_proved,
               (session.verified_at IS NOT NULL AND coalesce(last_message.messages = 1, false))::integer
                   AS sessions_first,
               0 AS messages, 0 AS messages_accepted, 0 AS messages_delivered, 0 AS messages_confirmed,
               0 AS messages_failed, 0 AS messages_expired, 0 AS attempts, 0 AS attempts_accepted,
               NULL::integer AS accept_bucket, NULL::integer AS receipt_bucket,
               time_bucket(session.verified_at - session.created_at) AS verify_bucket
        FROM session
        LEFT JOIN last_message ON last_message.session_id = session.id
        LEFT JOIN place ON place.id = session.recipient_id
        UNION ALL
        -- Where the customer's server reports who got in, a code without a session counts as one: by its last message.
        SELECT message.project_id, message.channel, message.provider_id, coalesce(place.country, ''),
               message.language, false,
               1, (sent_at IS NOT NULL)::integer, (status = 'success')::integer, is_verified, is_verified, is_verified,
               is_verified * (message.fallback_of_id IS NULL)::integer,
               0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, time_bucket(message.verified_at - message.created_at)
        FROM message
        CROSS JOIN LATERAL (SELECT (message.verified_at IS NOT NULL)::integer AS is_verified) AS reported
        LEFT JOIN place ON place.id = message.recipient_id
        WHERE is_of_hour AND message.session_id IS NULL AND NOT message.is_manual AND NOT EXISTS (
            SELECT FROM message AS later
            WHERE later.fallback_of_id = coalesce(message.fallback_of_id, message.id)
              AND later.created_at > message.created_at
        )
        UNION ALL
        SELECT message.project_id, message.channel, message.provider_id, coalesce(place.country, ''),
               message.language, message.is_manual,
               0, 0, 0, 0, 0, 0, 0,
               1, (sent_at IS NOT NULL)::integer, (status = 'success')::integer,
               (status = 'success' AND finished_at > sent_at)::integer,
               (status = 'failed')::integer, (status = 'expired')::integer, 0, 0,
               time_bucket(sent_at - created_at),
               CASE WHEN status = 'success' AND finished_at > sent_at THEN time_bucket(finished_at - created_at) END,
               NULL
        FROM message LEFT JOIN place ON place.id = message.recipient_id
        WHERE is_of_hour
        UNION ALL
        SELECT message.project_id, message.channel, coalesce(attempt.provider_id, 0), coalesce(place.country, ''),
               message.language, message.is_manual,
               0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, (attempt.outcome = 'accepted')::integer, NULL, NULL, NULL
        FROM message
        JOIN verification_deliveryattempt AS attempt ON attempt.message_id = message.id
        LEFT JOIN place ON place.id = message.recipient_id
        WHERE is_of_hour
    ), counted AS MATERIALIZED (
        SELECT fact.project_id, fact.channel, fact.provider_id, fact.country, fact.language, fact.is_manual,
               sum(sessions) AS sessions, sum(sessions_sent) AS sessions_sent,
               sum(sessions_delivered) AS sessions_delivered, sum(sessions_checked) AS sessions_checked,
               sum(sessions_verified) AS sessions_verified, sum(sessions_proved) AS sessions_proved,
               sum(sessions_first) AS sessions_first, sum(messages) AS messages,
               sum(messages_accepted) AS messages_accepted, sum(messages_delivered) AS messages_delivered,
               sum(messages_confirmed) AS messages_confirmed, sum(messages_failed) AS messages_failed,
               sum(messages_expired) AS messages_expired, sum(attempts) AS attempts,
               sum(attempts_accepted) AS attempts_accepted,
               histogram(array_agg(accept_bucket) FILTER (WHERE accept_bucket IS NOT NULL)) AS accept_times,
               histogram(array_agg(receipt_bucket) FILTER (WHERE receipt_bucket IS NOT NULL)) AS receipt_times,
               histogram(array_agg(verify_bucket) FILTER (WHERE verify_bucket IS NOT NULL)) AS verify_times
        FROM fact
        WHERE NOT EXISTS (SELECT FROM unknown)
        GROUP BY fact.project_id, fact.channel, fact.provider_id, fact.country, fact.language, fact.is_manual
    ), gone AS (
        DELETE FROM verification_hourlyfigures AS figures
        WHERE figures.hour = p_hour AND figures.project_id IN (SELECT id FROM project)
          AND NOT EXISTS (SELECT FROM unknown)
          AND NOT EXISTS (
              SELECT FROM counted
              WHERE counted.project_id = figures.project_id AND counted.channel = figures.channel
                AND counted.provider_id = figures.provider_id AND counted.country = figures.country
                AND counted.language = figures.language AND counted.is_manual = figures.is_manual
          )
    ), written AS (
        INSERT INTO verification_hourlyfigures AS figures (
            hour, project_id, channel, provider_id, country, language, is_manual,
            sessions, sessions_sent, sessions_delivered, sessions_checked, sessions_verified, sessions_proved,
            sessions_first, messages, messages_accepted, messages_delivered, messages_confirmed, messages_failed,
            messages_expired, attempts, attempts_accepted, accept_times, receipt_times, verify_times
        )
        SELECT p_hour, counted.* FROM counted
        ON CONFLICT (project_id, hour, channel, provider_id, country, language, is_manual) DO UPDATE SET
            sessions = excluded.sessions, sessions_sent = excluded.sessions_sent,
            sessions_delivered = excluded.sessions_delivered, sessions_checked = excluded.sessions_checked,
            sessions_verified = excluded.sessions_verified, sessions_proved = excluded.sessions_proved,
            sessions_first = excluded.sessions_first, messages = excluded.messages,
            messages_accepted = excluded.messages_accepted, messages_delivered = excluded.messages_delivered,
            messages_confirmed = excluded.messages_confirmed, messages_failed = excluded.messages_failed,
            messages_expired = excluded.messages_expired, attempts = excluded.attempts,
            attempts_accepted = excluded.attempts_accepted, accept_times = excluded.accept_times,
            receipt_times = excluded.receipt_times, verify_times = excluded.verify_times
        WHERE (figures.sessions, figures.sessions_sent, figures.sessions_delivered, figures.sessions_checked,
               figures.sessions_verified, figures.sessions_proved, figures.sessions_first, figures.messages,
               figures.messages_accepted, figures.messages_delivered, figures.messages_confirmed,
               figures.messages_failed, figures.messages_expired, figures.attempts, figures.attempts_accepted,
               figures.accept_times, figures.receipt_times, figures.verify_times)
            IS DISTINCT FROM
              (excluded.sessions, excluded.sessions_sent, excluded.sessions_delivered, excluded.sessions_checked,
               excluded.sessions_verified, excluded.sessions_proved, excluded.sessions_first, excluded.messages,
               excluded.messages_accepted, excluded.messages_delivered, excluded.messages_confirmed,
               excluded.messages_failed, excluded.messages_expired, excluded.attempts, excluded.attempts_accepted,
               excluded.accept_times, excluded.receipt_times, excluded.verify_times)
    )
    SELECT unknown.area, unknown.samples FROM unknown;
    PERFORM count_refusals(p_hour);
    PERFORM count_costs(p_hour);
END
$$;

-- Count the refused requests of one hour of all projects, from the decision log.
CREATE OR REPLACE FUNCTION count_refusals(p_hour timestamptz) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    DELETE FROM verification_hourlyrefusals AS noted
    WHERE noted.hour = p_hour AND noted.project_id IN (SELECT countable_projects(p_hour)) AND NOT EXISTS (
        SELECT FROM verification_decision AS decision
        WHERE decision.project_id = noted.project_id AND decision.hour = p_hour AND decision.rule = noted.rule
          AND decision.country = noted.country AND decision.refused > 0
    );
    INSERT INTO verification_hourlyrefusals AS noted (project_id, hour, rule, country, refused)
    SELECT decision.project_id, p_hour, decision.rule, decision.country, sum(decision.refused)
    FROM countable_projects(p_hour) AS project
    JOIN verification_decision AS decision ON decision.project_id = project AND decision.hour = p_hour
    WHERE decision.refused > 0
    GROUP BY decision.project_id, decision.rule, decision.country
    ON CONFLICT (project_id, hour, rule, country) DO UPDATE SET refused = excluded.refused
    WHERE noted.refused <> excluded.refused;
END
$$;

-- Sum the hours of one day (UTC) into its daily figures, for all projects whose hours of that day are all still there:
-- p_hours_since is the time since when hours are kept.
CREATE OR REPLACE FUNCTION sum_day(p_day date, p_hours_since timestamptz) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_lock constant bigint := 7294005;  -- as in count_hour
    v_start constant timestamptz := p_day::timestamp AT TIME ZONE 'UTC';
    v_end constant timestamptz := (p_day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    PERFORM pg_advisory_xact_lock(v_lock);
    DELETE FROM verification_dailyfigures AS figures
    WHERE figures.day = p_day
      AND (v_start >= p_hours_since OR figures.project_id IN (SELECT countable_projects(v_start)));
    INSERT INTO verification_dailyfigures AS figures (
        day, project_id, channel, provider_id, country, language, is_manual,
        sessions, sessions_sent, sessions_delivered, sessions_checked, sessions_verified, sessions_proved,
        sessions_first, messages, messages_accepted, messages_delivered, messages_confirmed, messages_failed,
        messages_expired, attempts, attempts_accepted, accept_times, receipt_times, verify_times
    )
    SELECT p_day, project_id, channel, provider_id, country, language, is_manual,
           sum(sessions), sum(sessions_sent), sum(sessions_delivered), sum(sessions_checked), sum(sessions_verified),
           sum(sessions_proved), sum(sessions_first), sum(messages), sum(messages_accepted), sum(messages_delivered),
           sum(messages_confirmed), sum(messages_failed), sum(messages_expired), sum(attempts),
           sum(attempts_accepted), sum_histograms(accept_times), sum_histograms(receipt_times),
           sum_histograms(verify_times)
    FROM verification_hourlyfigures
    WHERE hour >= v_start AND hour < v_end
      AND (v_start >= p_hours_since OR project_id IN (SELECT countable_projects(v_start)))
    GROUP BY project_id, channel, provider_id, country, language, is_manual;
    PERFORM sum_costs(p_day, p_hours_since);
END
$$;

-- Count the different recipients of one day (UTC) of all projects.
CREATE OR REPLACE FUNCTION count_users(p_day date) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_lock constant bigint := 7294005;  -- as in count_hour
    v_start constant timestamptz := p_day::timestamp AT TIME ZONE 'UTC';
    v_end constant timestamptz := (p_day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    PERFORM pg_advisory_xact_lock(v_lock);
    INSERT INTO verification_dailyusers AS noted (project_id, day, users, verified)
    SELECT project, p_day, count(DISTINCT asked.recipient_id),
           count(DISTINCT asked.recipient_id) FILTER (WHERE asked.verified_at IS NOT NULL)
    FROM countable_projects(v_start) AS project
    LEFT JOIN LATERAL (
        SELECT recipient_id, verified_at FROM verification_session
        WHERE project_id = project AND created_at >= v_start AND created_at < v_end AND NOT is_test
        UNION ALL
        SELECT recipient_id, verified_at FROM verification_message
        WHERE project_id = project AND created_at >= v_start AND created_at < v_end AND NOT is_test
          AND session_id IS NULL AND counts_handed(project, v_end)
    ) AS asked ON true
    GROUP BY project
    HAVING count(asked.recipient_id) > 0 OR EXISTS (
        SELECT FROM verification_dailyusers AS before WHERE before.project_id = project AND before.day = p_day
    )
    ON CONFLICT (project_id, day) DO UPDATE SET users = excluded.users, verified = excluded.verified
    WHERE (noted.users, noted.verified) IS DISTINCT FROM (excluded.users, excluded.verified);
END
$$;
