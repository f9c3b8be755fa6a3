-- Note that a call to a provider was in vain, and set the provider aside (open its breaker) if the latest calls say that
-- it fails for everybody. One recipient never does that for the others: each counts once, however often they are tried.
--
-- p_faults are the outcomes that count against a provider, p_in_vain those and the ones that are nobody's fault, p_favours
-- those that speak for it. They come from services/delivery/policy.py. p_outcome is the call's, with p_recipient.
-- p_wait_seconds is how long the provider asked to be left alone.
-- A probe that fails opens the breaker for twice as long as before, from 15 seconds up to five minutes. If its recipient
-- failed there before, it says nothing new: the probe is free for another one at once.
-- Returns whether the provider was set aside by this call.
CREATE OR REPLACE FUNCTION note_provider_failure(
    p_provider bigint, p_recipient bigint, p_outcome text, p_reason text, p_wait_seconds double precision,
    p_is_probe boolean, p_faults text[], p_in_vain text[], p_favours text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    -- Recipients whose calls of the last minute were faults, with none in the provider's favour between: no household or
    -- office that types a few bad numbers, and few enough to notice an outage soon.
    v_faulty constant integer := 5;
    -- Recipients for whom it asked to be left alone within the last minute: from the second on the limit is not theirs.
    v_waiting constant integer := 2;
    -- Recipients of the last ten minutes who make a share, and the share of them for whom every call was in vain, whoever
    -- is at fault: with some number that everybody's typing errors and a country out of its reach do not come to.
    v_many constant integer := 30;
    v_share constant numeric := 0.9;
    v_latest constant integer := 200;  -- calls that are looked at, at most
    v_first_seconds constant integer := 15;
    v_longest_seconds constant integer := 300;
    v_doublings constant integer := 10;  -- caps the exponent: 2 ^ openings would overflow after months of failures
    v_now timestamptz := clock_timestamp();
    v_is_broken boolean;
BEGIN
    IF p_is_probe THEN
        UPDATE verification_circuitbreaker AS breaker SET
            openings = openings + (NOT told.is_repeated)::integer,
            open_until = CASE WHEN told.is_repeated THEN v_now ELSE v_now
                + make_interval(secs => least(v_first_seconds * 2 ^ least(openings, v_doublings), v_longest_seconds)) END,
            reason = left(p_reason, 200)
        FROM (SELECT count(*) > 1 AS is_repeated FROM calls_to_recipient(p_provider, p_recipient)) AS told
        WHERE provider_id = p_provider AND open_until IS NOT NULL;
        RETURN FOUND;
    END IF;
    WITH latest AS (
        SELECT attempt.outcome, attempt.created_at, message.recipient_id
        FROM verification_deliveryattempt AS attempt JOIN verification_message AS message ON message.id = attempt.message_id
        WHERE attempt.provider_id = p_provider
            AND attempt.created_at > greatest(v_now - interval '10 minutes', (
                SELECT max(closed_at) FROM verification_breakeropening WHERE provider_id = p_provider
            ))
            AND attempt.outcome = ANY (p_in_vain || p_favours || p_outcome)
        ORDER BY attempt.created_at DESC LIMIT v_latest
    ), since AS (
        SELECT greatest(v_now - interval '1 minute', max(created_at) FILTER (WHERE outcome = ANY (p_favours))) AS at
        FROM latest
    ), recent AS (
        SELECT count(DISTINCT recipient_id) FILTER (WHERE outcome = ANY (p_faults)) AS faulty,
            count(DISTINCT recipient_id) FILTER (WHERE outcome = p_outcome) AS alike
        FROM latest, since WHERE created_at > since.at
    ), shares AS (
        SELECT count(*) AS recipients, count(*) FILTER (WHERE is_in_vain) AS in_vain
        FROM (SELECT bool_and(outcome = ANY (p_in_vain)) AS is_in_vain FROM latest GROUP BY recipient_id) AS told
    )
    SELECT faulty >= v_faulty
        OR (p_wait_seconds IS NOT NULL AND alike >= v_waiting)
        OR (recipients >= v_many AND in_vain >= v_share * recipients)
    INTO v_is_broken FROM recent, shares;
    IF NOT v_is_broken THEN
        RETURN false;
    END IF;
    INSERT INTO verification_circuitbreaker AS breaker (provider_id, opened_at, open_until, openings, reason)
    VALUES (
        p_provider, v_now,
        v_now + make_interval(secs => least(coalesce(p_wait_seconds, v_first_seconds), v_longest_seconds)), 1,
        left(p_reason, 200)
    )
    ON CONFLICT (provider_id) DO UPDATE SET
        opened_at = excluded.opened_at, open_until = excluded.open_until, openings = 1, reason = excluded.reason
    WHERE breaker.open_until IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO verification_breakeropening (provider_id, opened_at, reason)
    VALUES (p_provider, v_now, left(p_reason, 200));
    RETURN true;
END
$$;

-- Close a provider's breaker: it works again. The row of its opening, which scorecards tell of, ends.
CREATE OR REPLACE FUNCTION note_provider_success(p_provider bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE verification_circuitbreaker SET opened_at = NULL, open_until = NULL, openings = 0, reason = ''
    WHERE provider_id = p_provider AND open_until IS NOT NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE verification_breakeropening SET closed_at = clock_timestamp()
    WHERE provider_id = p_provider AND closed_at IS NULL;
    RETURN true;
END
$$;

-- The calls to a provider for one recipient, of the time in which it was set aside and the minute before.
CREATE OR REPLACE FUNCTION calls_to_recipient(p_provider bigint, p_recipient bigint)
RETURNS TABLE (called_at timestamptz) LANGUAGE sql VOLATILE AS $$
    SELECT attempt.created_at
    FROM verification_circuitbreaker AS breaker
    JOIN verification_message AS message ON message.recipient_id = p_recipient
    JOIN verification_deliveryattempt AS attempt
        ON attempt.message_id = message.id AND attempt.provider_id = breaker.provider_id
    WHERE breaker.provider_id = p_provider AND attempt.created_at > breaker.opened_at - interval '1 minute'
        AND message.created_at > clock_timestamp() - interval '1 hour'  -- longer than any message is sent
$$;

-- Take the probe of a provider whose time aside is over, and return whether the caller got it. One worker of all does.
-- The next probe is to be had 10 seconds later, when this one's call must have ended, or once it is given back. Nobody
-- takes it twice within these 10 seconds for one recipient, else one whose messages all fail could keep it from others.
CREATE OR REPLACE FUNCTION take_probe(p_provider bigint, p_recipient bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_pause constant interval := interval '10 seconds';
BEGIN
    UPDATE verification_circuitbreaker SET open_until = clock_timestamp() + v_pause
    WHERE provider_id = p_provider AND open_until <= clock_timestamp() AND NOT EXISTS (
        SELECT FROM calls_to_recipient(p_provider, p_recipient)
        WHERE called_at > greatest(opened_at, clock_timestamp() - v_pause)
    );
    RETURN FOUND;
END
$$;

-- Give the probe of a provider back: its answer told nothing about the provider.
CREATE OR REPLACE FUNCTION give_back_probe(p_provider bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE verification_circuitbreaker SET open_until = clock_timestamp()
    WHERE provider_id = p_provider AND open_until IS NOT NULL
$$;
