-- The purge of what is most: messages and sessions, each batch one call. A batch goes on after the last row that the
-- one before looked at, in the order of age, along the index of the project's rows. So a project costs what it has to
-- lose, however much others have. The caller has the project's removal turn.

-- Remove the project's next old messages that are final and whose callback is not on its way, with all that hangs on them.
-- Messages that somebody holds are left for the next run.
CREATE OR REPLACE FUNCTION purge_messages(
    p_project bigint,
    p_before timestamptz,
    p_after timestamptz,
    p_after_id bigint,
    p_limit integer,
    OUT looked_at integer,
    OUT deleted integer,
    OUT last_at timestamptz,
    OUT last_id bigint
) LANGUAGE plpgsql SET enable_seqscan = off AS $$  -- statistics may be older than most of the rows
DECLARE
    v_messages bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);  -- what a crash brings back goes with the next run
    SELECT count(*), array_agg(id), max(created_at), (array_agg(id ORDER BY created_at DESC, id DESC))[1]
    INTO looked_at, v_messages, last_at, last_id
    FROM (
        SELECT id, created_at FROM verification_message
        WHERE project_id = p_project AND created_at < p_before AND (created_at, id) > (p_after, p_after_id)
        ORDER BY created_at, id
        LIMIT p_limit
    ) AS next;
    SELECT array_agg(id) INTO v_messages FROM (
        SELECT id FROM verification_message
        WHERE id = ANY (v_messages) AND finished_at IS NOT NULL
        ORDER BY id
        FOR UPDATE SKIP LOCKED
    ) AS held;
    -- Only now, as whoever held the row before may have asked for its callback again.
    SELECT array_agg(id) INTO v_messages
    FROM unnest(v_messages) AS held (id)
    WHERE NOT EXISTS (
        SELECT FROM verification_webhookevent AS event WHERE event.message_id = held.id AND event.due_at IS NOT NULL
    );
    PERFORM remove_events(ARRAY(SELECT id FROM verification_webhookevent WHERE message_id = ANY (v_messages)));
    DELETE FROM verification_deliveryattempt WHERE message_id = ANY (v_messages);
    DELETE FROM verification_idempotentrequest WHERE message_id = ANY (v_messages);
    DELETE FROM verification_guardedsend WHERE message_id = ANY (v_messages);
    DELETE FROM verification_riskverdict WHERE message_id = ANY (v_messages);
    DELETE FROM verification_message WHERE id = ANY (v_messages);
    GET DIAGNOSTICS deleted = ROW_COUNT;
END
$$;

-- Remove events with the calls that told them.
CREATE OR REPLACE FUNCTION remove_events(p_ids bigint[]) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM verification_webhookattempt WHERE event_id = ANY (p_ids);
    DELETE FROM verification_webhookevent WHERE id = ANY (p_ids);
END
$$;

-- Remove the project's next old sessions of which no message is kept and no event is on its way, with their events,
-- tokens, wrong codes and chats.
CREATE OR REPLACE FUNCTION purge_sessions(
    p_project bigint,
    p_before timestamptz,
    p_after timestamptz,
    p_after_id text,
    p_limit integer,
    OUT looked_at integer,
    OUT deleted integer,
    OUT last_at timestamptz,
    OUT last_id text
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_sessions text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT count(*), array_agg(id), max(created_at), (array_agg(id ORDER BY created_at DESC, id DESC))[1]
    INTO looked_at, v_sessions, last_at, last_id
    FROM (
        SELECT id, created_at FROM verification_session
        WHERE project_id = p_project AND created_at < p_before AND (created_at, id) > (p_after, p_after_id)
        ORDER BY created_at, id
        LIMIT p_limit
    ) AS next;
    SELECT array_agg(id) INTO v_sessions FROM (
        SELECT id FROM verification_session WHERE id = ANY (v_sessions) ORDER BY id FOR UPDATE SKIP LOCKED
    ) AS held;
    SELECT array_agg(id) INTO v_sessions
    FROM unnest(v_sessions) AS held (id)
    WHERE NOT EXISTS (SELECT FROM verification_message AS message WHERE message.session_id = held.id)
      AND NOT EXISTS (
          SELECT FROM verification_webhookevent AS event WHERE event.session_id = held.id AND event.due_at IS NOT NULL
      );
    PERFORM remove_events(ARRAY(SELECT id FROM verification_webhookevent WHERE session_id = ANY (v_sessions)));
    DELETE FROM verification_botchat WHERE session_id = ANY (v_sessions);
    DELETE FROM verification_wrongcode WHERE session_id = ANY (v_sessions);
    DELETE FROM verification_verifytoken WHERE session_id = ANY (v_sessions);
    DELETE FROM verification_session WHERE id = ANY (v_sessions);
    GET DIAGNOSTICS deleted = ROW_COUNT;
END
$$;
