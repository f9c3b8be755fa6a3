-- The latest moment that counts as past. A later row was written before the database's clock was set back; counted, it
-- would block somebody for as long as that was. The minute leaves room for rows that others wrote while we waited for a
-- lock.
CREATE OR REPLACE FUNCTION latest_past(p_now timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT p_now + interval '1 minute'
$$;

-- How long to wait until every window holds fewer of the given moments than its limit: whole seconds, rounded up; 0 for
-- "no need to wait". `p_moments` is newest first. `p_windows` are terms of the project (services/projects/project_terms.py):
--   [{"seconds": 600, "limit": 5}, ...], a limit of 0 is off
-- Each limit is divided by `p_divisor` and rounded up. For somebody who passed a challenge (`p_is_challenged`), windows
-- that are `lifted_by_challenge` do not count.
CREATE OR REPLACE FUNCTION longest_wait(
    p_moments timestamptz[], p_windows jsonb, p_divisor integer, p_is_challenged boolean, p_now timestamptz
) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_longest integer := 0;
    v_window jsonb;
    v_limit integer;
BEGIN
    FOR v_place IN 0 .. jsonb_array_length(p_windows) - 1 LOOP
        v_window := p_windows -> v_place;
        v_limit := ceil((v_window ->> 'limit')::numeric / p_divisor);
        CONTINUE WHEN v_limit = 0 OR p_moments[v_limit] IS NULL OR p_is_challenged AND v_window ? 'lifted_by_challenge';
        v_longest := greatest(v_longest, ceil(extract(
            epoch FROM p_moments[v_limit] + make_interval(secs => (v_window ->> 'seconds')::integer) - p_now
        ))::integer);
    END LOOP;
    RETURN v_longest;
END
$$;

-- The seconds left of the block of each channel, as {"sms": 42}. The block belongs to the recipient and
-- the channel, so it outlives the session. Manual sends neither take nor obey it; a send that failed at every
-- provider is no longer counted and frees it.
CREATE OR REPLACE FUNCTION channel_blocks(p_recipient bigint, p_now timestamptz)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_message record;
    v_blocks jsonb := '{}';
BEGIN
    FOR v_message IN  -- the newest last, so that it is the one that stands
        SELECT channel, created_at FROM verification_message
        WHERE recipient_id = p_recipient
          AND created_at > p_now - interval '60 seconds'
          AND created_at <= latest_past(p_now)
          AND session_id IS NOT NULL
          AND (is_counted OR is_test)
        ORDER BY created_at
    LOOP
        v_blocks := v_blocks || jsonb_build_object(v_message.channel, least(  -- whatever the clock did since
            60, ceil(extract(epoch FROM v_message.created_at + interval '60 seconds' - p_now))
        )::integer);
    END LOOP;
    RETURN v_blocks;
END
$$;

-- The wait that the recipient's wrong codes impose, in seconds. `p_limits` are the terms
--   {"windows": as in longest_wait, "seconds": the longest window, "rows": the highest limit, "divisors": {"4": 2}}
-- The limits are divided by the divisor of the code's length, as a short code is guessed sooner. A session that passed a challenge is bound by the day alone, so that a
-- stranger's guesses cannot keep the owner of a number out. Only time and the recipient's own success take wrong codes
-- back.
CREATE OR REPLACE FUNCTION wrong_codes_wait(
    p_recipient bigint, p_verified_at timestamptz, p_limits jsonb, p_code_length integer,
    p_is_challenged boolean, p_now timestamptz
) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_moments timestamptz[] := ARRAY(
        SELECT created_at FROM verification_wrongcode
        WHERE recipient_id = p_recipient
          AND created_at > greatest(
              p_now - make_interval(secs => (p_limits ->> 'seconds')::integer),
              CASE WHEN p_verified_at <= latest_past(p_now) THEN p_verified_at END
          )
          AND created_at <= latest_past(p_now)
        ORDER BY created_at DESC
        LIMIT (p_limits ->> 'rows')::integer
    );
BEGIN
    IF v_moments = '{}' THEN
        RETURN 0;
    END IF;
    RETURN longest_wait(
        v_moments, p_limits -> 'windows', coalesce((p_limits -> 'divisors' ->> p_code_length::text)::integer, 1),
        p_is_challenged, p_now
    );
END
$$;

-- Use up the answer to a challenge, known by its digest. False if it was used before. Of parallel calls with one answer
-- the others wait here until the first has committed, so exactly one gets on; and where that one is rolled back by a
-- fault of ours, the answer is still good.
CREATE OR REPLACE FUNCTION use_challenge(p_project bigint, p_challenge bytea)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_kept constant interval := '10 minutes';  -- no provider lets an answer live for more than five
BEGIN
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
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
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
    );
END
$$;

-- The channels over which nothing goes to the recipient: after a hard bounce, a complaint or an opt-out.
CREATE OR REPLACE FUNCTION suppressed_channels(p_recipient bigint)
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT channel::text FROM verification_suppression WHERE recipient_id = p_recipient AND lifted_at IS NULL
    );
END
$$;
