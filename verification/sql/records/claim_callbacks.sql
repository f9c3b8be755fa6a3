-- Claim up to p_limit callbacks that are due. Of one project no more than p_per_project are under way in the worker, so
-- a customer whose server is slow holds up nobody else's. p_busy names the project of each callback that is under way
-- there now. `due_at` moves to the end of a lease.
CREATE OR REPLACE FUNCTION claim_callbacks(
    p_limit integer, p_per_project integer, p_busy bigint[], p_lease_seconds integer
)
RETURNS TABLE (
    message_id bigint, project_id bigint, url text, tries integer, channel text, status text, error text,
    finished_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_ids bigint[];
BEGIN
    v_ids := ARRAY(
        SELECT due.message_id
        FROM verification_project AS project
        CROSS JOIN LATERAL (
            SELECT c.message_id, c.due_at FROM verification_callback AS c
            WHERE c.project_id = project.id AND c.due_at <= v_now
            ORDER BY c.due_at
            LIMIT greatest(p_per_project - cardinality(array_positions(p_busy, project.id)), 0)
            FOR UPDATE SKIP LOCKED
        ) AS due
        ORDER BY due.due_at LIMIT p_limit
    );
    RETURN QUERY
    UPDATE verification_callback AS c
    SET tries = c.tries + 1, due_at = v_now + make_interval(secs => p_lease_seconds)
    FROM verification_message AS m
    WHERE c.message_id = ANY (v_ids) AND m.id = c.message_id
    RETURNING c.message_id, c.project_id, c.url::text, c.tries::integer, m.channel::text, m.status::text, m.error::text,
              m.finished_at;
END
$$;
