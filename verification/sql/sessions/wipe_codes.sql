-- Wipe the codes of up to p_limit sessions that have expired, the oldest first: the sealed code and its digest. Rows that
-- somebody holds are left for the next time. Returns the number of sessions.
--
-- Only a session that was not verified has a code left, and it loses it once. So the projects that want to know of
-- expired sessions are told of each here, once. One that wrong codes had locked was told as locked.
CREATE OR REPLACE FUNCTION wipe_codes(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_ids text[] := ARRAY(
        SELECT id FROM verification_session
        WHERE code_digest IS NOT NULL AND expires_at <= clock_timestamp()
        ORDER BY expires_at
        LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED
    );
BEGIN
    PERFORM note_session_event(
        jsonb_build_object('types', to_jsonb(project.events), 'is_called', project.event_url <> ''),
        'session.expired', session.project_id, session.id, session.channel, '', ''
    )
    FROM verification_project AS project JOIN verification_session AS session ON session.project_id = project.id
    WHERE project.is_enabled AND 'session.expired' = ANY (project.events)
      AND session.id = ANY (v_ids) AND session.attempts < session.attempts_max;
    UPDATE verification_session SET code_encrypted = NULL, code_digest = NULL WHERE id = ANY (v_ids);
    RETURN cardinality(v_ids);
END
$$;
