-- The latest moment that counts as past. A later row was written before the database's clock was set back; counted, it
-- would block somebody for as long as that was. The minute leaves room for rows that others wrote while we waited for a
-- lock.
CREATE OR REPLACE FUNCTION latest_past(p_now timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT p_now + interval '1 minute'
$$;

-- How long to wait until fewer than `p_limit` of the given moments lie within the last `p_window`.
-- `p_moments` is newest first. Whole seconds, rounded up; 0 for "no need to wait". A limit of 0 is off.
CREATE OR REPLACE FUNCTION seconds_until_below(
    p_moments timestamptz[], p_limit integer, p_window interval, p_now timestamptz
) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(
        greatest(0, ceil(extract(epoch FROM p_moments[nullif(p_limit, 0)] + p_window - p_now))::integer), 0
    )
$$;

-- The seconds left of the 60-second block of each channel, as {"sms": 42}. The block belongs to the recipient and
-- the channel, so it outlives the session. Manual sends neither take nor obey it; a send that failed at every
-- provider is no longer counted and frees it.
CREATE OR REPLACE FUNCTION channel_blocks(p_recipient bigint, p_now timestamptz)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_object_agg(channel, left_seconds), '{}')
    FROM (
        SELECT channel, least(  -- whatever the clock did since
            60, ceil(extract(epoch FROM max(created_at) + interval '60 seconds' - p_now))
        )::integer AS left_seconds
        FROM verification_message
        WHERE recipient_id = p_recipient
          AND created_at > p_now - interval '60 seconds'
          AND created_at <= latest_past(p_now)
          AND session_id IS NOT NULL
          AND (is_counted OR is_test)
        GROUP BY channel
    ) AS blocked
$$;

-- The wait that the recipient's wrong codes impose, in seconds. `p_limits` is {in 15 minutes, in a day}, halved for
-- codes of four characters. A session that passed a challenge is bound by the day alone, so that a stranger's
-- guesses cannot keep the owner of a number out. Only time and the recipient's own success take wrong codes back.
CREATE OR REPLACE FUNCTION wrong_codes_wait(
    p_recipient bigint, p_verified_at timestamptz, p_limits integer[], p_code_length integer,
    p_is_challenged boolean, p_now timestamptz
) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_share integer := CASE WHEN p_code_length = 4 THEN 2 ELSE 1 END;
    v_in_15_minutes integer := CASE WHEN p_is_challenged THEN 0 ELSE ceil(p_limits[1]::numeric / v_share) END;
    v_in_a_day integer := ceil(p_limits[2]::numeric / v_share);
    v_moments timestamptz[];
BEGIN
    v_moments := ARRAY(
        SELECT created_at FROM verification_wrongcode
        WHERE recipient_id = p_recipient
          AND created_at > greatest(
              p_now - interval '1 day', CASE WHEN p_verified_at <= latest_past(p_now) THEN p_verified_at END
          )
          AND created_at <= latest_past(p_now)
        ORDER BY created_at DESC
        LIMIT greatest(v_in_15_minutes, v_in_a_day)
    );
    RETURN greatest(
        seconds_until_below(v_moments, v_in_15_minutes, interval '15 minutes', p_now),
        seconds_until_below(v_moments, v_in_a_day, interval '1 day', p_now)
    );
END
$$;

-- Use up the answer to a challenge, known by its digest. False if it was used before. Of parallel calls with one answer
-- the others wait here until the first has committed, so exactly one gets on; and where that one is rolled back by a
-- fault of ours, the answer is still good. A caller without an answer (null) gets on.
CREATE OR REPLACE FUNCTION use_challenge(p_project bigint, p_challenge bytea)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_kept constant interval := '10 minutes';  -- no provider lets an answer live for more than five
BEGIN
    IF p_challenge IS NULL THEN
        RETURN true;
    END IF;
    INSERT INTO verification_usedchallenge (digest, project_id, expires_at)
    VALUES (p_challenge, p_project, clock_timestamp() + v_kept)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- The messengers over which the recipient can be reached now. p_messengers names, for each messenger of the project, its
-- enabled providers: {"messenger_a": {"bots": [3], "direct": [5]}}. A bot reaches those who were bound to it by proof and
-- have not blocked it; a direct provider everybody, but for a day after it said that they have no account.
CREATE OR REPLACE FUNCTION active_messengers(p_recipient bigint, p_messengers jsonb)
RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY(
        SELECT messenger FROM jsonb_each(p_messengers) AS offered (messenger, providers)
        WHERE EXISTS (
            SELECT FROM verification_subscription AS subscription
            WHERE subscription.recipient_id = p_recipient
              AND subscription.is_active
              AND providers -> 'bots' @> to_jsonb(subscription.provider_id)
        ) OR EXISTS (
            SELECT FROM jsonb_array_elements_text(providers -> 'direct') AS direct (id)
            WHERE NOT EXISTS (
                SELECT FROM verification_noaccount AS noted
                WHERE noted.recipient_id = p_recipient
                  AND noted.provider_id = direct.id::bigint
                  AND noted.noted_at > now() - interval '24 hours'
            )
        )
    )
$$;

-- The channels over which nothing goes to the recipient: after a hard bounce, a complaint or an opt-out.
CREATE OR REPLACE FUNCTION suppressed_channels(p_recipient bigint)
RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY(
        SELECT channel::text FROM verification_suppression WHERE recipient_id = p_recipient AND lifted_at IS NULL
    )
$$;
