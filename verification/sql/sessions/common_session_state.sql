-- Return whether a test login of this revision is live: not changed, deleted, expired or switched off.
CREATE OR REPLACE FUNCTION is_test_login_live(p_project bigint, p_revision uuid)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM verification_testlogin AS login
        JOIN verification_project AS project ON project.id = login.project_id
        WHERE login.project_id = p_project
          AND login.revision = p_revision
          AND project.test_logins_enabled
          AND (login.expires_at IS NULL OR login.expires_at > clock_timestamp())
    );
END
$$;

-- The longest that a session of any project lives (core/session_rules.py): how far to look for rows of sessions by their
-- creation. A session's own end is in its row.
CREATE OR REPLACE FUNCTION longest_session() RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT interval '900 seconds'
$$;

-- Note on a session why its code did not go out, for its owner. The same reason again writes nothing.
CREATE OR REPLACE FUNCTION note_session_refusal(p_session text, p_refusal text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE verification_session SET refusal = p_refusal WHERE id = p_session AND refusal <> p_refusal;
END
$$;

-- The state of a session. A row that was not found arrives as a row of nulls. A test login's session ends with the login.
CREATE OR REPLACE FUNCTION session_state(p_session verification_session, p_now timestamptz)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE
        WHEN p_session.id IS NULL THEN 'session_not_found'
        WHEN p_session.verified_at IS NOT NULL THEN 'session_verified'
        WHEN p_session.expires_at <= p_now THEN 'session_expired'
        WHEN p_session.is_test AND NOT is_test_login_live(p_session.project_id, p_session.test_login) THEN 'session_expired'
        WHEN p_session.attempts >= p_session.attempts_max THEN 'session_locked'
        ELSE 'open'
    END;
END
$$;
