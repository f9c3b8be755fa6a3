-- Return whether the claim on a message still holds and its code is still of use. Asked before each further provider.
CREATE OR REPLACE FUNCTION is_still_wanted(p_message bigint, p_claims integer) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM verification_message AS m
        JOIN verification_project AS project ON project.id = m.project_id
        LEFT JOIN verification_session AS s ON s.id = m.session_id
        WHERE m.id = p_message
          AND m.claimed_at IS NOT NULL
          AND m.claims = p_claims
          AND project.is_enabled
          AND m.verified_at IS NULL
          AND (m.session_id IS NULL OR session_state(s, clock_timestamp()) = 'open')
    )
$$;
