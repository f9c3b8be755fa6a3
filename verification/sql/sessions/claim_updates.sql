-- Claim up to p_limit updates of bots that are due. A worker handles at most p_per_project at once for the bots of one
-- project, or for the system's. So a bot whose messenger does not answer delays no other project's bots. p_busy names the project of
-- each update that the worker handles now, 0 for the system's. The project with the least under way comes first. The
-- updates of one chat are taken in their order, one at a time. `due_at` moves to the end of the lease.
CREATE OR REPLACE FUNCTION claim_updates(
    p_limit integer, p_per_project integer, p_busy bigint[], p_lease_seconds integer
)
RETURNS TABLE (update_id bigint, project_id bigint, tries integer) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_ids bigint[];
BEGIN
    v_ids := ARRAY(
        SELECT ranked.id
        FROM (
            SELECT due.id,
                   row_number() OVER (PARTITION BY provider.project_id ORDER BY due.id)
                   + cardinality(array_positions(p_busy, coalesce(provider.project_id, 0))) AS place
            FROM verification_provider AS provider
            CROSS JOIN LATERAL (
                SELECT u.id FROM verification_botupdate AS u
                WHERE u.provider_id = provider.id AND u.due_at <= v_now
                  AND NOT EXISTS (
                      SELECT FROM verification_botupdate AS earlier
                      WHERE earlier.provider_id = u.provider_id AND earlier.account_id = u.account_id
                        AND earlier.id < u.id AND earlier.due_at IS NOT NULL
                  )
                ORDER BY u.id LIMIT p_per_project
                FOR UPDATE OF u SKIP LOCKED
            ) AS due
            WHERE provider.channel IN ('messenger_a', 'messenger_b')
        ) AS ranked
        WHERE ranked.place <= p_per_project
        ORDER BY ranked.place, ranked.id LIMIT p_limit
    );
    RETURN QUERY
    UPDATE verification_botupdate AS u
    SET tries = u.tries + 1, due_at = v_now + make_interval(secs => p_lease_seconds)
    FROM verification_provider AS provider
    WHERE u.id = ANY (v_ids) AND provider.id = u.provider_id
    RETURNING u.id, coalesce(provider.project_id, 0), u.tries::integer;
END
$$;
