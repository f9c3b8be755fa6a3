-- Take the message whose time to arrive has been over for longest, or return no row if none is due.
--
-- Each message is handed out once. In the same transaction the caller sends the session's code over the project's next
-- channel if is_wanted: the session is still open, neither this message nor another one with the code has arrived, and no
-- later one, which the user may have asked for, still has time to arrive. That one falls back in its turn. Where the
-- project draws a new code for each send, an earlier message does not count, as its code may be another.
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
        WHERE m.fallback_at <= v_now AND m.session_id IS NOT NULL
        ORDER BY m.fallback_at LIMIT 1
        FOR UPDATE OF m SKIP LOCKED FOR NO KEY UPDATE OF recipient SKIP LOCKED
    ), taken AS (
        UPDATE verification_message AS m SET fallback_at = NULL FROM due WHERE m.id = due.id
        RETURNING m.project_id, m.session_id, m.status, m.created_at
    )
    SELECT taken.project_id, taken.session_id::text, ARRAY(
        SELECT DISTINCT sent.channel::text FROM verification_message AS sent WHERE sent.session_id = taken.session_id
    ), taken.status <> 'success' AND session_state(s, v_now) = 'open' AND NOT EXISTS (
        SELECT FROM verification_message AS other
        WHERE other.session_id = taken.session_id AND CASE WHEN other.created_at > taken.created_at
            THEN other.status = 'success' OR other.fallback_at > v_now
            ELSE other.status = 'success' AND NOT project.new_code_on_send
        END
    )
    FROM taken
    JOIN verification_session AS s ON s.id = taken.session_id
    JOIN verification_project AS project ON project.id = taken.project_id;
END
$$;

-- The same for a code that an identity system handed over: there is no session, so the message has kept the code itself.
-- Here it goes to the caller, who sends it over the next channel if is_wanted: no message with the code has arrived,
-- nobody reported that the user got in, and the code is still of use for `lives_seconds`. `channels` are those that it
-- went over.
CREATE OR REPLACE FUNCTION claim_handed_fallback()
RETURNS TABLE (
    message_id bigint, project_id bigint, connection_id bigint, first_id bigint, address text, language text,
    code_encrypted bytea, lives_seconds double precision, channels text[], is_wanted boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH due AS (
        SELECT m.id, m.code_encrypted, recipient.address, recipient.forgotten_at
        FROM verification_message AS m
        JOIN verification_recipient AS recipient ON recipient.id = m.recipient_id
        WHERE m.fallback_at <= v_now AND m.session_id IS NULL
        ORDER BY m.fallback_at LIMIT 1
        FOR UPDATE OF m SKIP LOCKED FOR NO KEY UPDATE OF recipient SKIP LOCKED
    ), taken AS (
        UPDATE verification_message AS m SET
            fallback_at = NULL,
            code_encrypted = CASE WHEN m.status IN ('queued', 'sending') THEN m.code_encrypted END
        FROM due WHERE m.id = due.id
        RETURNING m.id, m.project_id, m.connection_id, coalesce(m.fallback_of_id, m.id) AS first_id, m.recipient_id,
            m.language, m.status, m.expires_at, due.code_encrypted, due.address, due.forgotten_at
    )
    SELECT taken.id, taken.project_id, taken.connection_id, taken.first_id, taken.address::text, taken.language::text,
        taken.code_encrypted, extract(epoch FROM taken.expires_at - v_now)::double precision, ARRAY(
            SELECT DISTINCT sent.channel::text FROM verification_message AS sent
            WHERE sent.recipient_id = taken.recipient_id AND sent.created_at > v_now - interval '1 hour'
              AND (sent.id = taken.first_id OR sent.fallback_of_id = taken.first_id)
        ),
        taken.status <> 'success' AND taken.expires_at > v_now AND taken.code_encrypted IS NOT NULL
            AND taken.forgotten_at IS NULL AND NOT EXISTS (
                SELECT FROM verification_message AS sent
                WHERE sent.recipient_id = taken.recipient_id AND sent.created_at > v_now - interval '1 hour'
                  AND (sent.id = taken.first_id OR sent.fallback_of_id = taken.first_id)
                  AND (sent.status = 'success' OR sent.verified_at IS NOT NULL)
            )
    FROM taken;
END
$$;
