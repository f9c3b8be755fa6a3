-- Take in what a provider reports about a message, named by its id for it or by ours.
--
-- Only a message that this provider was asked to send can be meant, so a receipt never crosses tenants. A receipt may
-- overtake our own note of the acceptance; then ours comes too late and changes nothing, as statuses only go forward.
-- Returns the message's id where one was meant, and whether its status changed.
CREATE OR REPLACE FUNCTION record_receipt(
    p_provider bigint, p_provider_message_id text, p_message bigint, p_status text, p_error text, p_provider_status text,
    OUT message_id bigint, OUT is_changed boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_message verification_message;
BEGIN
    SELECT m.* INTO v_message FROM verification_message AS m
    WHERE m.provider_id = p_provider AND m.provider_message_id = p_provider_message_id
    ORDER BY m.created_at DESC LIMIT 1;
    IF NOT FOUND THEN
        SELECT m.* INTO v_message
        FROM verification_deliveryattempt AS attempt
        JOIN verification_message AS m ON m.id = attempt.message_id
        WHERE attempt.provider_id = p_provider
          AND attempt.created_at > now() - interval '3 days'
          AND (
              attempt.provider_message_id = p_provider_message_id
              -- Ours counts only where the provider gave none: it may carry the ids of another installation.
              OR (attempt.message_id = p_message AND attempt.provider_message_id IS NULL)
          )
        ORDER BY attempt.created_at DESC LIMIT 1;
    END IF;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    message_id := v_message.id;
    is_changed := finish_message(
        v_message.id, NULL, p_status, nullif(p_error, ''),
        -- A message that is sent keeps the wait for its receipt that it had.
        greatest(extract(epoch FROM v_message.due_at - clock_timestamp()), 60), p_provider, NULL, NULL,
        p_provider_message_id, NULL, NULL, NULL
    );
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
