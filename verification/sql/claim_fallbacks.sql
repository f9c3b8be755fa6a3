-- Take up to p_limit messages whose time to arrive is over: neither confirmed nor replaced, of sessions that still live.
-- Each is handed out once; whoever takes it sends the session's code over the project's next channel.
CREATE OR REPLACE FUNCTION claim_fallbacks(p_limit integer)
RETURNS TABLE (project_id bigint, session_id text, channels text[]) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH due AS (
        SELECT m.id FROM verification_message AS m
        WHERE m.fallback_at <= v_now
        ORDER BY m.fallback_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE verification_message AS m SET fallback_at = NULL FROM due WHERE m.id = due.id
        RETURNING m.project_id, m.session_id, m.status
    )
    SELECT taken.project_id, taken.session_id::text, ARRAY(
        SELECT DISTINCT sent.channel::text FROM verification_message AS sent WHERE sent.session_id = taken.session_id
    )
    FROM taken JOIN verification_session AS s ON s.id = taken.session_id
    WHERE taken.status <> 'success' AND session_state(s, v_now) = 'open';
END
$$;
