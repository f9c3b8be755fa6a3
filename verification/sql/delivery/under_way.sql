-- The messages of a channel, and of a project unless p_project is null, that workers have claimed. Returns at most p_most.
--
-- A provider's calls decide how often this is asked, so a backlog must not make it dear: only the freshest p_look waiting
-- messages are looked at. Workers claim the freshest first, so what they hold is among them.
CREATE OR REPLACE FUNCTION messages_under_way(p_project bigint, p_channel text, p_look integer, p_most integer)
RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT fresh.id
        FROM (
            SELECT m.id, m.project_id, m.channel, m.status, m.claimed_at FROM verification_message AS m
            WHERE m.status IN ('queued', 'sending')
            ORDER BY m.created_at DESC
            LIMIT p_look
        ) AS fresh
        WHERE fresh.status = 'sending' AND fresh.claimed_at IS NOT NULL
          AND fresh.channel = p_channel
          AND (p_project IS NULL OR fresh.project_id = p_project)
        LIMIT p_most
    );
END
$$;

-- Return whether a worker still has one of these messages.
CREATE OR REPLACE FUNCTION is_any_under_way(p_messages bigint[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- A literal in the condition would let PostgreSQL choose the index of all waiting messages.
    v_claimed constant text[] := '{sending}';
BEGIN
    RETURN EXISTS (
        SELECT FROM verification_message AS m
        WHERE m.id = ANY (p_messages) AND m.status = ANY (v_claimed) AND m.claimed_at IS NOT NULL
    );
END
$$;
