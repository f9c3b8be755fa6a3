-- Return the ids of the newest messages that failed or expired in these projects, p_limit at most. Each project and
-- status is looked up by itself, so that a project without any costs one look into the index. One statement over all of
-- them lets PostgreSQL guess that matches are near, and it reads the whole table where there are none.
CREATE OR REPLACE FUNCTION newest_lost(p_projects bigint[], p_statuses text[], p_limit integer)
RETURNS SETOF bigint LANGUAGE plpgsql STABLE ROWS 10000 AS $$
BEGIN
    RETURN QUERY
    SELECT lost.id
      FROM unnest(p_projects) AS wanted (project_id)
      CROSS JOIN unnest(p_statuses) AS ended (status)
      CROSS JOIN LATERAL (
          SELECT m.id, m.created_at FROM verification_message AS m
          WHERE m.project_id = wanted.project_id AND m.status = ended.status AND m.status IN ('failed', 'expired')
          ORDER BY m.created_at DESC LIMIT p_limit
      ) AS lost
     ORDER BY lost.created_at DESC LIMIT p_limit;
END
$$;
