-- The calls that a provider did not accept, counted from the attempts of an hour, as count_figures.sql counts the figures.
-- The countries of the hour's numbers are noted already.
CREATE OR REPLACE FUNCTION count_faults(p_hour timestamptz) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    v_lock constant bigint := 7294005;  -- as in count_hour
    v_end constant timestamptz := p_hour + interval '1 hour';
BEGIN
    PERFORM pg_advisory_xact_lock(v_lock);
    WITH project AS MATERIALIZED (
        SELECT id FROM countable_projects(p_hour) AS id
    ), counted AS MATERIALIZED (
        SELECT project.id AS project_id, attempt.provider_id, coalesce(known.country, '') AS country, attempt.outcome,
               count(*) AS calls
        FROM project
        CROSS JOIN LATERAL (
            SELECT id, recipient_id FROM verification_message
            WHERE project_id = project.id AND created_at >= p_hour AND created_at < v_end AND NOT is_test
        ) AS message
        JOIN verification_deliveryattempt AS attempt
          ON attempt.message_id = message.id AND attempt.outcome <> 'accepted' AND attempt.provider_id IS NOT NULL
        LEFT JOIN verification_recipient AS recipient ON recipient.id = message.recipient_id
        LEFT JOIN verification_numberarea AS known ON known.area = number_area(recipient.address)
        GROUP BY 1, 2, 3, 4
    ), gone AS (
        DELETE FROM verification_hourlyfaults AS faults
        WHERE faults.hour = p_hour AND faults.project_id IN (SELECT id FROM project) AND NOT EXISTS (
            SELECT FROM counted
            WHERE counted.project_id = faults.project_id AND counted.provider_id = faults.provider_id
              AND counted.country = faults.country AND counted.outcome = faults.outcome
        )
    )
    INSERT INTO verification_hourlyfaults AS faults (hour, project_id, provider_id, country, outcome, calls)
    SELECT p_hour, counted.* FROM counted
    ON CONFLICT (project_id, hour, provider_id, country, outcome) DO UPDATE SET calls = excluded.calls
    WHERE faults.calls <> excluded.calls;
END
$$;
