-- Send a session's code again, over the channel asked for, under the recipient's lock.
--
-- The caller has found the session and judged the channel; what time and other callers decide is judged here.
-- p_challenge, p_terms and p_guard are as in open_session; p_code_digest and p_code_encrypted are null, or a new code
-- that replaces the session's. p_request, p_caller_request and p_subnet are kept with the message.
--
-- Outcome: 'queued', 'challenge_used', 'session_not_found', 'session_verified', 'session_expired', 'session_locked',
-- 'channel_not_active', 'too_many_attempts', 'channel_timeout', 'session_sends', 'too_many_sends', 'suppressed', 'guarded',
-- 'over_budget'.
CREATE OR REPLACE FUNCTION send_code(
    p_project bigint, p_session text, p_channel text, p_message bigint, p_code_digest bytea, p_code_encrypted bytea,
    p_challenge bytea, p_terms jsonb, p_guard jsonb, p_request uuid, p_caller_request text, p_subnet text,
    OUT outcome text, OUT retry_after integer, OUT expires_at timestamptz, OUT message_id bigint, OUT blocks jsonb,
    OUT active text[]
) LANGUAGE plpgsql AS $$
DECLARE
    v_messengers constant jsonb := p_terms -> 'messengers';
    v_recipient record;
    v_queued record;
    v_session verification_session;
    v_now timestamptz;
BEGIN
    IF p_challenge IS NOT NULL AND NOT use_challenge(p_project, p_challenge) THEN
        outcome := 'challenge_used';
        RETURN;
    END IF;
    v_recipient := lock_recipient_of(p_project, p_session);
    v_now := clock_timestamp();
    SELECT * INTO v_session FROM verification_session AS s WHERE s.id = p_session AND s.project_id = p_project;

    outcome := session_state(v_session, v_now);
    IF outcome <> 'open' THEN
        RETURN;
    END IF;
    IF p_challenge IS NOT NULL AND NOT v_session.is_challenged THEN
        UPDATE verification_session SET is_challenged = true WHERE id = p_session;
        v_session.is_challenged := true;
    END IF;
    retry_after := wrong_codes_wait(
        v_recipient.id, v_recipient.verified_at, p_terms -> 'wrong_codes', v_session.code_length,
        v_session.is_challenged, v_now
    );
    IF retry_after > 0 THEN
        outcome := 'too_many_attempts';
        PERFORM note_session_refusal(p_session, outcome);
        RETURN;
    END IF;
    active := CASE WHEN v_messengers = '{}' THEN '{}' ELSE active_messengers(v_recipient.id, v_messengers) END;
    IF NOT v_session.is_test AND v_messengers ? p_channel AND p_channel <> ALL (active) THEN
        UPDATE verification_session SET awaited_channel = p_channel WHERE id = p_session;
        outcome := 'channel_not_active';
        RETURN;
    END IF;
    blocks := channel_blocks(v_recipient.id, v_now);
    IF blocks ? p_channel THEN
        outcome := 'channel_timeout';
        retry_after := blocks ->> p_channel;
        PERFORM note_session_refusal(p_session, outcome);
        RETURN;
    END IF;
    v_queued := queue_message(
        p_message => p_message, p_project => p_project, p_recipient => v_recipient.id, p_address => v_recipient.address,
        p_mailbox => v_recipient.mailbox, p_is_new_recipient => false, p_session => p_session, p_is_new_session => false,
        p_channel => p_channel, p_language => v_session.language, p_expires_at => v_session.expires_at,
        p_code_encrypted => NULL, p_callback_url => '', p_provider => NULL, p_is_test => v_session.is_test,
        p_suppressed => suppressed_channels(v_recipient.id), p_terms => p_terms,
        p_guard => p_guard || jsonb_build_object('passed', v_session.is_challenged), p_now => v_now,
        p_request => p_request, p_caller_request => p_caller_request, p_subnet => p_subnet
    );
    outcome := v_queued.outcome;
    retry_after := v_queued.retry_after;
    IF outcome <> 'queued' THEN
        PERFORM note_session_refusal(p_session, outcome);
        RETURN;
    END IF;
    UPDATE verification_session SET
        channel = p_channel,
        awaited_channel = '',
        refusal = '',
        code_digest = coalesce(p_code_digest, code_digest),
        code_encrypted = coalesce(p_code_encrypted, code_encrypted)
    WHERE id = p_session;
    expires_at := v_session.expires_at;
    blocks := blocks || jsonb_build_object(p_channel, 60);
    IF NOT v_session.is_test THEN
        message_id := p_message;
    END IF;
END
$$;
