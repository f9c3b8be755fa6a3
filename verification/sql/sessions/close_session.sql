-- End an open or locked session before its time, as its owner's server asks. Its code is wiped, and none waits to be sent:
-- a message of a session that is over expires. The recipient's lock lets no check of the code go on meanwhile. One that was
-- ended so before stays as it is.
--
-- Outcome: 'closed', or the state of a session that is not there, verified or over.
CREATE OR REPLACE FUNCTION close_session(p_project bigint, p_session text, OUT outcome text) LANGUAGE plpgsql AS $$
DECLARE
    v_session verification_session;
    v_now timestamptz;
BEGIN
    PERFORM lock_recipient_of(p_project, p_session);
    v_now := clock_timestamp();
    SELECT * INTO v_session FROM verification_session AS s WHERE s.id = p_session AND s.project_id = p_project;
    outcome := session_state(v_session, v_now);
    IF outcome IN ('open', 'session_locked') THEN
        UPDATE verification_session
        SET is_open = false, expires_at = v_now, cancelled_at = v_now, code_encrypted = NULL, code_digest = NULL
        WHERE id = p_session;
        outcome := 'closed';
    ELSIF v_session.cancelled_at IS NOT NULL THEN
        outcome := 'closed';
    END IF;
END
$$;
