-- The calls of each provider for a project's sessions over one channel, by country and hour since p_since, as the workers
-- have counted them, with the sessions that were verified and the seconds these took together. `counted_at` is the time
-- of the last count. A worker asks for it once a minute; manual sends are nobody's verification, so they are left out.
CREATE OR REPLACE FUNCTION routing_hours(p_project bigint, p_channel text, p_since timestamptz)
RETURNS TABLE (
    provider_id bigint, country text, hour timestamptz, asked bigint, verified bigint, seconds double precision,
    counted_at timestamptz
)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    v_counted_at constant timestamptz := (SELECT finished_at FROM verification_upkeep WHERE name = 'figures');
BEGIN
    RETURN QUERY
    SELECT figures.provider_id, figures.country::text, figures.hour, sum(figures.attempts),
           sum(figures.sessions_verified),
           -- Each step of the histogram counts by its middle, as services/analytics/report.py tells times.
           coalesce(sum((
               SELECT sum(step.number * 0.1 * 2 ^ (greatest(step.place - 1.5, 0) / 3))
               FROM unnest(figures.verify_times) WITH ORDINALITY AS step (number, place)
               WHERE step.number > 0
           )), 0)::double precision,
           v_counted_at
    FROM verification_hourlyfigures AS figures
    WHERE figures.project_id = p_project AND figures.hour >= p_since AND figures.channel = p_channel
      AND figures.provider_id <> 0 AND NOT figures.is_manual
    GROUP BY figures.provider_id, figures.country, figures.hour
    HAVING sum(figures.attempts) + sum(figures.sessions_verified) > 0;
END
$$;
