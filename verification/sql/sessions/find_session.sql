-- A session of this project with its recipient's address and its present state. No row: unknown, or another project's.
CREATE OR REPLACE FUNCTION find_session(p_project bigint, p_session text)
RETURNS TABLE (
    id text, recipient_id bigint, address text, state text, language text, code_length integer, code_digits boolean,
    code_letters boolean, is_test boolean, link_payload text
) LANGUAGE sql STABLE AS $$
    SELECT s.id, s.recipient_id, recipient.address, session_state(s, clock_timestamp()), s.language, s.code_length,
           s.code_digits, s.code_letters, s.is_test, s.link_payload
    FROM verification_session AS s
    JOIN verification_recipient AS recipient ON recipient.id = s.recipient_id
    WHERE s.id = p_session AND s.project_id = p_project
$$;

-- What a recipient's channels look like now: the blocks that run, and the messengers that reach them.
CREATE OR REPLACE FUNCTION view_channels(p_recipient bigint, p_messengers jsonb, OUT blocks jsonb, OUT active text[])
LANGUAGE sql STABLE AS $$
    SELECT channel_blocks(p_recipient, clock_timestamp()), active_messengers(p_recipient, p_messengers)
$$;
