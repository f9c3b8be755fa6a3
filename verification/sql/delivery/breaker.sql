-- Note that a provider failed, and set it aside (open its breaker) if it keeps failing: when the last five telling calls
-- of the last minute were faults, or half of at least twenty.
--
-- p_faults are the outcomes that count against a provider; p_telling are those and the outcomes that count in its favour.
-- Both come from services/delivery/policy.py. An outcome that concerns the recipient or the message alone is in neither.
-- p_wait_seconds is how long the provider asked to be left alone; it opens the breaker at once.
-- A probe that fails opens the breaker for twice as long as before, from 15 seconds up to five minutes.
-- Returns whether the provider was set aside by this call.
CREATE OR REPLACE FUNCTION note_provider_failure(
    p_provider bigint, p_reason text, p_wait_seconds double precision, p_is_probe boolean, p_faults text[],
    p_telling text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_in_a_row constant integer := 5;
    v_calls_to_judge constant integer := 20;
    v_first_seconds constant integer := 15;
    v_longest_seconds constant integer := 300;
    v_doublings constant integer := 10;  -- caps the exponent: 2 ^ openings would overflow after months of failures
    v_now timestamptz := clock_timestamp();
    v_faults boolean[];
BEGIN
    IF p_is_probe THEN
        UPDATE verification_circuitbreaker SET
            openings = openings + 1,
            open_until = v_now + make_interval(secs => least(v_first_seconds * 2 ^ least(openings, v_doublings), v_longest_seconds)),
            reason = left(p_reason, 200)
        WHERE provider_id = p_provider AND open_until IS NOT NULL;
        RETURN FOUND;
    END IF;
    IF p_wait_seconds IS NULL THEN
        v_faults := ARRAY(
            SELECT outcome = ANY (p_faults)
            FROM verification_deliveryattempt
            WHERE provider_id = p_provider AND created_at > v_now - interval '1 minute' AND outcome = ANY (p_telling)
            ORDER BY created_at DESC LIMIT 200
        );
        IF (cardinality(v_faults) < v_in_a_row OR false = ANY (v_faults[:v_in_a_row]))
            AND (cardinality(v_faults) < v_calls_to_judge
                 OR 2 * cardinality(array_positions(v_faults, true)) < cardinality(v_faults))
        THEN
            RETURN false;
        END IF;
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

-- Take the probe of a provider whose time aside is over, and return whether the caller got it. One worker of all does.
-- The next probe is to be had 10 seconds later, when this one's call must have ended.
CREATE OR REPLACE FUNCTION take_probe(p_provider bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE verification_circuitbreaker SET open_until = clock_timestamp() + interval '10 seconds'
    WHERE provider_id = p_provider AND open_until <= clock_timestamp();
    RETURN FOUND;
END
$$;
