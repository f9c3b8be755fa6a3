-- Find the messages that a provider's call reports on. Each report names its message by the provider's id or by ours; the
-- two arrays have one length. Returns the report's place, from 1, and the message, for each report on a message of ours.
--
-- Only messages that this provider was asked to send are searched, so a receipt never crosses tenants. A message that was
-- sent twice has two ids, each on its own attempt. Our id counts only if the provider's answer gave none: a report may
-- carry our ids of another installation on the same account.
-- Unknown ids must cost next to nothing, as anybody's messages may bring them. So each search uses the index on the id
-- itself. The aggregates and the additions of 0 are for that: an order or a condition that another index supports would
-- invite the planner to read that other index from end to end.
CREATE OR REPLACE FUNCTION find_reported(p_provider bigint, p_provider_message_ids text[], p_messages bigint[])
RETURNS TABLE (place bigint, message_id bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT report.place, coalesce(latest.message_id, attempted.message_id, unnamed.message_id)
    FROM unnest(p_provider_message_ids, p_messages) WITH ORDINALITY AS report (provider_message_id, message, place)
    CROSS JOIN LATERAL (
        SELECT (array_agg(m.id ORDER BY m.created_at + interval '0' DESC))[1] AS message_id
        FROM verification_message AS m
        WHERE m.provider_id = p_provider AND m.provider_message_id = report.provider_message_id
    ) AS latest
    CROSS JOIN LATERAL (
        SELECT (array_agg(attempt.message_id ORDER BY attempt.id + 0 DESC))[1] AS message_id
        FROM verification_deliveryattempt AS attempt
        WHERE attempt.provider_message_id = report.provider_message_id AND attempt.provider_id + 0 = p_provider
    ) AS attempted
    CROSS JOIN LATERAL (
        SELECT (array_agg(attempt.message_id))[1] AS message_id
        FROM verification_deliveryattempt AS attempt
        WHERE attempt.message_id = report.message
          AND attempt.provider_id + 0 = p_provider
          AND attempt.provider_message_id IS NULL
    ) AS unnamed
    WHERE coalesce(latest.message_id, attempted.message_id, unnamed.message_id) IS NOT NULL;
END
$$;

-- Record what a provider reports about a message that find_reported has found.
--
-- A receipt may arrive before our record of the acceptance. That record then changes nothing, as statuses only go
-- forward. A failure at one provider ends nothing while another has the message, may have it, or is about to be asked;
-- the attempt remembers it, so that the message fails with the last of them. The message's row is locked first, so that
-- of a failure and the end of a round, or of two failures, the later one sees the earlier.
-- Returns whether the message's status changed (`is_changed`), whether the report tells anything that no earlier one did
-- (`is_new`), and whether it is to be believed about the recipient's account at the provider (`is_believed`): a failure is,
-- if it is the first and the provider has not delivered the message. The first delivery takes back what `note_no_account` noted.
CREATE OR REPLACE FUNCTION take_receipt(
    p_provider bigint, p_provider_message_id text, p_message bigint, p_status text, p_error text, p_provider_status text,
    p_price numeric, p_currency text, OUT is_changed boolean, OUT is_new boolean, OUT is_believed boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_usual_wait constant integer := 600;  -- seconds
    v_message record;
    v_status text;
    v_said text;
    v_is_free boolean;
    v_is_delivered boolean;
    v_is_first boolean := false;  -- that the provider failed with the message
BEGIN
    is_changed := false;
    SELECT status, provider_id, recipient_id INTO v_message
    FROM verification_message WHERE id = p_message FOR NO KEY UPDATE;
    v_status := v_message.status;
    SELECT provider_status INTO v_said FROM verification_deliveryattempt
    WHERE message_id = p_message AND provider_id = p_provider
    ORDER BY id DESC LIMIT 1;
    is_new := v_said IS DISTINCT FROM left(p_provider_status, 100);
    IF p_status IN ('failed', 'expired') THEN
        v_is_first := EXISTS (
            SELECT FROM verification_deliveryattempt
            WHERE message_id = p_message AND provider_id = p_provider AND outcome IN ('accepted', 'unknown')
              AND failed_at IS NULL
        );
        UPDATE verification_deliveryattempt SET failed_at = coalesce(failed_at, clock_timestamp())
        WHERE message_id = p_message AND provider_id = p_provider AND outcome IN ('accepted', 'unknown', 'unclear')
          AND (p_provider_message_id IS NULL OR provider_message_id IS NULL
               OR provider_message_id = p_provider_message_id);
    END IF;
    IF p_status NOT IN ('failed', 'expired') OR (v_status NOT IN ('queued', 'sending') AND NOT EXISTS (
        SELECT FROM verification_deliveryattempt AS other
        WHERE other.message_id = p_message
          AND other.provider_id <> p_provider
          AND other.outcome IN ('accepted', 'unknown', 'unclear')
          AND other.failed_at IS NULL
    )) THEN
        is_changed := finish_message(
            p_message, NULL, p_status, nullif(p_error, ''), v_usual_wait, p_provider, NULL, NULL,
            p_provider_message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        );
        -- No foreign key holds the message's provider. It may just be going, and is waited for then.
        PERFORM FROM verification_provider WHERE id = p_provider FOR KEY SHARE;
        IF NOT FOUND THEN
            UPDATE verification_message SET provider_id = NULL WHERE id = p_message;
        END IF;
    END IF;
    -- A report that contradicts a final status changes nothing, but the attempt keeps the provider's word.
    -- A price that is told now replaces the one that was expected. What failed may cost nothing, by the provider's setting.
    v_is_free := p_price IS NULL AND p_status IN ('failed', 'expired') AND v_status IS DISTINCT FROM 'success' AND EXISTS (
        SELECT FROM verification_provider WHERE id = p_provider AND failed_costs = 'nothing'
    );
    UPDATE verification_deliveryattempt SET
        provider_status = left(p_provider_status, 100),
        price = CASE WHEN v_is_free THEN 0 ELSE coalesce(p_price, price) END,
        currency = CASE WHEN v_is_free THEN coalesce(currency, 'XXX') ELSE coalesce(p_currency, currency) END
    WHERE id = (
        SELECT max(id) FROM verification_deliveryattempt
        WHERE verification_deliveryattempt.message_id = p_message AND provider_id = p_provider
    );
    v_is_first := v_is_first OR is_changed;
    is_new := is_new OR v_is_first;
    v_is_delivered := v_status = 'success' AND v_message.provider_id = p_provider;
    is_believed := CASE WHEN p_status IN ('failed', 'expired') THEN v_is_first AND NOT v_is_delivered ELSE is_new END;
    IF p_status = 'success' AND is_new AND NOT v_is_delivered THEN
        PERFORM take_back_no_account(v_message.recipient_id, p_provider);
    END IF;
END
$$;

-- Forget what the provider said of the recipient: something has reached them over it. A note that another transaction is
-- just writing is left, so that this waits for nobody.
CREATE OR REPLACE FUNCTION take_back_no_account(p_recipient bigint, p_provider bigint) RETURNS void LANGUAGE sql AS $$
    DELETE FROM verification_noaccount WHERE id IN (
        SELECT id FROM verification_noaccount WHERE recipient_id = p_recipient AND provider_id = p_provider
        FOR UPDATE SKIP LOCKED
    )
$$;

-- Do so for the provider that carried these messages' code, now that it was entered. Of several, nobody knows which did.
CREATE OR REPLACE FUNCTION code_has_arrived(p_recipient bigint, p_messages bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_provider bigint;
BEGIN
    SELECT min(provider_id) INTO v_provider FROM verification_deliveryattempt
    WHERE message_id = ANY (p_messages) AND outcome IN ('accepted', 'unknown')
    HAVING count(DISTINCT provider_id) = 1;
    IF FOUND THEN
        PERFORM take_back_no_account(p_recipient, v_provider);
    END IF;
END
$$;

-- Remember for a day that the recipient has no account on this provider's messenger, or has opted out there.
CREATE OR REPLACE FUNCTION note_no_account(p_recipient bigint, p_provider bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO verification_noaccount (recipient_id, provider_id) VALUES (p_recipient, p_provider)
    ON CONFLICT (recipient_id, provider_id) DO UPDATE SET noted_at = now()
$$;
