-- Take the message whose time to arrive has been over for longest, or return no row if none is due.
--
-- Each message is handed out once. In the same transaction the caller sends the session's code over the project's next
-- channel if is_wanted: the message was not confirmed and the session is still open.
-- Sending needs the recipient's lock. It is taken here, together with the message: a caller that waited for it with a
-- message in hand could be waited for in turn. A message of a locked recipient is left for the next round.
CREATE OR REPLACE FUNCTION claim_fallback()
RETURNS TABLE (project_id bigint, session_id text, channels text[], is_wanted boolean) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH due AS (
        SELECT m.id FROM verification_message AS m
        JOIN verification_recipient AS recipient ON recipient.id = m.recipient_id
        WHERE m.fallback_at <= v_now
        ORDER BY m.fallback_at LIMIT 1
        FOR UPDATE OF m SKIP LOCKED FOR NO KEY UPDATE OF recipient SKIP LOCKED
    ), taken AS (
        UPDATE verification_message AS m SET fallback_at = NULL FROM due WHERE m.id = due.id
        RETURNING m.project_id, m.session_id, m.status
    )
    SELECT taken.project_id, taken.session_id::text, ARRAY(
        SELECT DISTINCT sent.channel::text FROM verification_message AS sent WHERE sent.session_id = taken.session_id
    ), taken.status <> 'success' AND session_state(s, v_now) = 'open'
    FROM taken JOIN verification_session AS s ON s.id = taken.session_id;
END
$$;
