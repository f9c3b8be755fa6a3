-- Note that the user of a message without a session got in, as the customer's server reports: by the message, or by the address,
-- which stands for its newest message of the last day. All messages with the same code count, and once: a repeated report
-- changes nothing. The recipient becomes known, and the traffic guard counts their sends as verified, as redeem_verify_token does.
--
-- Outcome: 'verified', or 'message_not_found' (also for a session's message, and for another project's).
CREATE OR REPLACE FUNCTION report_verified(p_project bigint, p_message bigint, p_address text, OUT outcome text)
LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz;
    v_recipient bigint;
    v_message record;
BEGIN
    outcome := 'message_not_found';
    IF p_message IS NOT NULL THEN
        SELECT recipient_id INTO v_recipient
        FROM verification_message WHERE id = p_message AND project_id = p_project AND session_id IS NULL;
    ELSE
        SELECT id INTO v_recipient
        FROM verification_recipient WHERE project_id = p_project AND address = p_address;
    END IF;
    PERFORM FROM verification_recipient WHERE id = v_recipient FOR NO KEY UPDATE;
    v_now := clock_timestamp();
    SELECT id, channel, is_test, coalesce(fallback_of_id, id) AS first_id, verified_at INTO v_message
    FROM verification_message
    WHERE recipient_id = v_recipient AND session_id IS NULL AND (p_message IS NULL OR id = p_message)
      AND (p_message IS NOT NULL OR created_at > v_now - interval '1 day')
    ORDER BY created_at DESC
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    outcome := 'verified';
    IF v_message.is_test OR v_message.verified_at IS NOT NULL THEN
        RETURN;
    END IF;
    -- A worker that holds one of them reads no verified_at before its next claim: so they are waited for, in one order.
    PERFORM FROM verification_message
    WHERE recipient_id = v_recipient AND (id = v_message.first_id OR fallback_of_id = v_message.first_id)
    ORDER BY id FOR NO KEY UPDATE;
    UPDATE verification_message SET verified_at = v_now
    WHERE recipient_id = v_recipient AND (id = v_message.first_id OR fallback_of_id = v_message.first_id);
    UPDATE verification_recipient SET verified_channel = v_message.channel
    WHERE id = v_recipient AND verified_channel <> v_message.channel;
    PERFORM code_has_arrived(v_recipient, ARRAY(
        SELECT id FROM verification_message
        WHERE recipient_id = v_recipient AND (id = v_message.first_id OR fallback_of_id = v_message.first_id)
    ));
    PERFORM note_known(p_project, v_recipient, v_now);
    UPDATE verification_guardedsend SET verified_at = v_now
    WHERE message_id IN (
        SELECT message_id FROM verification_guardedsend
        WHERE recipient_id = v_recipient AND created_at > v_now - interval '1 day' AND verified_at IS NULL
        FOR NO KEY UPDATE SKIP LOCKED
    );
    UPDATE verification_project SET reported_at = v_now
    WHERE id = (
        SELECT id FROM verification_project
        WHERE id = p_project AND (reported_at IS NULL OR reported_at NOT BETWEEN v_now - interval '1 hour' AND v_now)
        FOR NO KEY UPDATE SKIP LOCKED
    );
END
$$;
