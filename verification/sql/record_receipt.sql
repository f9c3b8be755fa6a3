-- Take in what a provider reports about a message, named by its id for it or by ours.
--
-- Only a message that this provider was asked to send can be meant, so a receipt never crosses tenants. A receipt may
-- overtake our own note of the acceptance; then ours comes too late and changes nothing, as statuses only go forward.
-- That one provider failed ends nothing while another has the message, may have it, or is about to be asked.
-- Returns the message's id where one was meant, and whether its status changed.
CREATE OR REPLACE FUNCTION record_receipt(
    p_provider bigint, p_provider_message_id text, p_message bigint, p_status text, p_error text, p_provider_status text,
    OUT message_id bigint, OUT is_changed boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_longest_wait constant interval := '15 minutes';  -- no receipt is waited for any longer
    v_usual_wait constant integer := 600;  -- seconds
    v_message verification_message;
BEGIN
    SELECT m.* INTO v_message FROM verification_message AS m
    WHERE m.provider_id = p_provider AND m.provider_message_id = p_provider_message_id
    ORDER BY m.created_at DESC LIMIT 1;
    IF NOT FOUND THEN
        -- Ours counts only where the provider gave none: it may carry the ids of another installation.
        SELECT m.* INTO v_message
        FROM verification_deliveryattempt AS attempt
        JOIN verification_message AS m ON m.id = attempt.message_id
        WHERE attempt.message_id = p_message
          AND attempt.provider_id = p_provider
          AND attempt.provider_message_id IS NULL
        LIMIT 1;
    END IF;
    IF NOT FOUND THEN
        -- A message that was sent twice goes by the id of the first. For strangers' ids this reads on to the end.
        SELECT m.* INTO v_message
        FROM verification_deliveryattempt AS attempt
        JOIN verification_message AS m ON m.id = attempt.message_id
        WHERE attempt.provider_id = p_provider
          AND attempt.created_at > now() - v_longest_wait
          AND attempt.provider_message_id = p_provider_message_id
        ORDER BY attempt.created_at DESC LIMIT 1;
    END IF;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    message_id := v_message.id;
    IF p_status IN ('failed', 'expired') AND (v_message.status IN ('queued', 'sending') OR EXISTS (
        SELECT FROM verification_deliveryattempt AS other
        WHERE other.message_id = v_message.id
          AND other.provider_id <> p_provider
          AND other.outcome IN ('accepted', 'unknown')
    )) THEN
        is_changed := false;
    ELSE
        is_changed := finish_message(
            v_message.id, NULL, p_status, nullif(p_error, ''), v_usual_wait, p_provider, NULL, NULL,
            p_provider_message_id, NULL, NULL, NULL
        );
    END IF;
    -- What contradicts a final status changes nothing, but is on record.
    UPDATE verification_deliveryattempt SET provider_status = left(p_provider_status, 100)
    WHERE id = (
        SELECT max(id) FROM verification_deliveryattempt
        WHERE verification_deliveryattempt.message_id = v_message.id AND provider_id = p_provider
    );
END
$$;

-- Remember for a day that the recipient has no account on this provider's messenger.
CREATE OR REPLACE FUNCTION note_no_account(p_recipient bigint, p_provider bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO verification_noaccount (recipient_id, provider_id) VALUES (p_recipient, p_provider)
    ON CONFLICT (recipient_id, provider_id) DO UPDATE SET noted_at = now()
$$;
