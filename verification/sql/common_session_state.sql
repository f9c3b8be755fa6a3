-- Where a session stands. A row that was not found arrives as one of nulls.
CREATE OR REPLACE FUNCTION session_state(p_session verification_session, p_now timestamptz)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_session.id IS NULL THEN 'session_not_found'
        WHEN p_session.verified_at IS NOT NULL THEN 'session_verified'
        WHEN p_session.expires_at <= p_now THEN 'session_expired'
        WHEN p_session.attempts >= p_session.attempts_max THEN 'session_locked'
        ELSE 'open'
    END
$$;
