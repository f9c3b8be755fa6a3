-- Return how quickly each of these providers answered, from its last 100 calls within the hour: the number of answers,
-- and the time within which 99 of 100 came. A call without an answer counts with the time it was waited for, so that a
-- provider that has become slower is given more time. `is_late`: within the last 30 seconds a call took a second or more,
-- and the provider did not take the message.
CREATE OR REPLACE FUNCTION provider_paces(p_providers bigint[])
RETURNS TABLE (provider_id bigint, answers bigint, p99_ms integer, is_late boolean) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_looked_at constant integer := 100;  -- calls
    v_late constant integer := 1000;  -- milliseconds
    v_late_for constant interval := '30 seconds';
BEGIN
    RETURN QUERY
    SELECT
        asked.id,
        count(*) FILTER (WHERE call.outcome IN ('accepted', 'refused', 'no_account', 'opted_out', 'unknown', 'unclear')),
        percentile_disc(0.99) WITHIN GROUP (ORDER BY call.latency_ms)
            FILTER (WHERE call.outcome IN ('accepted', 'refused', 'no_account', 'opted_out', 'unknown', 'unclear'))::integer,
        coalesce(bool_or(
            call.outcome IN ('unknown', 'temporary') AND call.latency_ms >= v_late AND call.created_at > v_now - v_late_for
        ), false)
    FROM unnest(p_providers) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT attempt.outcome, attempt.latency_ms, attempt.created_at
        FROM verification_deliveryattempt AS attempt
        WHERE attempt.provider_id = asked.id AND attempt.created_at > v_now - interval '1 hour'
        ORDER BY attempt.created_at DESC LIMIT v_looked_at
    ) AS call
    GROUP BY asked.id;
END
$$;
