-- Record what became of a message: the attempt just made (if any) and the status that follows (if it changes).
--
-- Statuses go forward only: queued, sending, sent, then success, failed or expired, which are final.
-- p_status null records the attempt alone; the message stays claimed.
-- 'sending' gives the message back, due again in p_retry_seconds, if this worker still holds the claim (p_claims).
-- 'sent' waits p_retry_seconds for a receipt. The others close the message. It is 'failed' instead where nobody is left
-- whose receipt could come: all who may have taken the message reported meanwhile that they could not deliver it.
-- A worker whose claim ended by a receipt, or by another's claim, may still record that a provider accepted the message,
-- but may not close it.
-- A message ends without having been sent if no provider accepted or may have accepted it. It then stops counting in
-- every limit and frees its channel. The day's budget gets it back only if it was taken from the budget.
--
-- The message's row is locked before all else, and the function waits for nothing that a holder of its recipient's lock
-- may hold. Later statements see the attempts of whoever held the row until now. Nothing is recorded for a message that
-- was erased.
-- Returns whether the status changed.
CREATE OR REPLACE FUNCTION finish_message(
    p_message bigint, p_claims integer, p_status text, p_error text, p_retry_seconds double precision,
    p_provider bigint, p_provider_name text, p_outcome text, p_provider_message_id text, p_provider_status text,
    p_attempt_error text, p_latency_ms integer, p_choice text,
    p_segments integer, p_price numeric, p_currency text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_order constant text[] := '{queued,sending,sent,success,failed,expired}';
    v_is_final boolean;
    v_is_sent boolean;
    v_is_counted boolean;
    v_message record;
BEGIN
    IF p_status = 'sending' THEN
        UPDATE verification_message
        SET claimed_at = NULL, due_at = v_now + make_interval(secs => p_retry_seconds)
        WHERE id = p_message AND claimed_at IS NOT NULL AND claims = p_claims;
        RETURN FOUND;
    END IF;

    SELECT project_id, recipient_id, channel, status, claims, lost_leases, is_counted, is_budgeted, created_at,
        claimed_at, finished_at
    INTO v_message
    FROM verification_message WHERE id = p_message
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF p_outcome IS NOT NULL THEN
        INSERT INTO verification_deliveryattempt (
            message_id, provider_id, provider_name, outcome, provider_message_id, provider_status, error, latency_ms,
            choice, segments, price, currency
        ) VALUES (
            p_message, p_provider, p_provider_name, p_outcome, p_provider_message_id, p_provider_status,
            p_attempt_error, p_latency_ms, coalesce(p_choice, ''), p_segments, p_price, p_currency
        );
    END IF;
    IF p_status = 'sent' AND p_outcome IS NULL AND p_claims IS NOT NULL AND v_message.lost_leases = 0 AND EXISTS (
        SELECT FROM verification_deliveryattempt WHERE message_id = p_message AND failed_at IS NOT NULL
    ) AND NOT EXISTS (
        SELECT FROM verification_deliveryattempt
        WHERE message_id = p_message AND outcome IN ('accepted', 'unknown', 'unclear') AND failed_at IS NULL
    ) THEN
        p_status := 'failed';
        p_error := coalesce(p_error, 'The provider could not deliver it.');
    END IF;
    IF p_status IS NULL
        OR v_message.finished_at IS NOT NULL
        OR NOT (p_claims IS NULL OR (p_claims = v_message.claims AND v_message.claimed_at IS NOT NULL)
                OR coalesce(p_outcome = 'accepted', false))
        OR array_position(v_order, v_message.status::text) >= array_position(v_order, p_status)
    THEN
        RETURN false;
    END IF;

    v_is_final := p_status IN ('success', 'failed', 'expired');
    v_is_sent := p_status IN ('sent', 'success');
    v_is_counted := v_message.is_counted;
    IF v_is_counted AND NOT v_is_sent AND v_message.lost_leases = 0 THEN
        v_is_counted := EXISTS (
            SELECT FROM verification_deliveryattempt AS attempt
            WHERE attempt.message_id = p_message AND attempt.outcome IN ('accepted', 'unknown', 'unclear')
        );
    END IF;
    UPDATE verification_message SET
        status = p_status,
        error = p_error,
        claimed_at = NULL,
        due_at = v_now + make_interval(secs => coalesce(p_retry_seconds, 0)),
        sent_at = CASE WHEN v_is_sent THEN coalesce(sent_at, v_now) ELSE sent_at END,
        finished_at = CASE WHEN v_is_final THEN v_now END,
        provider_id = coalesce(p_provider, provider_id),
        provider_message_id = coalesce(p_provider_message_id, provider_message_id),
        -- From here on it is sent or final. A code without a session is kept for the next channel while that may have to take
        -- it: claim_handed_fallback wipes it.
        code_encrypted = CASE
            WHEN p_status <> 'success' AND fallback_at IS NOT NULL AND session_id IS NULL THEN code_encrypted
        END,
        is_counted = v_is_counted,
        -- Once it has arrived there is nothing to fall back from; once it has failed there is no use in waiting.
        fallback_at = CASE
            WHEN p_status = 'success' THEN NULL
            WHEN p_status = 'failed' AND fallback_at IS NOT NULL THEN v_now
            ELSE fallback_at
        END
    WHERE id = p_message;

    IF v_is_final THEN
        PERFORM note_message_end(p_message);
    END IF;
    IF v_message.is_counted AND NOT v_is_counted THEN
        DELETE FROM verification_guardedsend WHERE message_id = p_message;
        UPDATE verification_dailyspend SET messages = greatest(messages - 1, 0)
        WHERE project_id = v_message.project_id
          AND channel = v_message.channel
          AND day = (v_message.created_at AT TIME ZONE 'UTC')::date
          AND v_message.is_budgeted;
    END IF;
    RETURN true;
END
$$;

-- End, without a provider call, up to p_limit messages whose time is over, the oldest first. Those that were never sent,
-- and those whose receipt did not come in time, expire. One that may have been sent, as a worker that took it left no word
-- or a provider's answer is not known, becomes 'sent' and waits for its receipt. Returns their number.
CREATE OR REPLACE FUNCTION expire_messages(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_ids bigint[] := ARRAY(
        SELECT id FROM verification_message
        WHERE status IN ('queued', 'sending') AND expires_at <= v_now AND due_at <= v_now
        ORDER BY expires_at
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    );
    v_receipt_seconds constant integer := 600;  -- as UNCONFIRMED_SECONDS of delivery/round.py
    v_may_be_sent bigint[] := ARRAY(
        SELECT id FROM verification_message
        WHERE id = ANY (v_ids) AND (claimed_at IS NOT NULL OR lost_leases > 0 OR EXISTS (
            SELECT FROM verification_deliveryattempt AS attempt
            WHERE attempt.message_id = verification_message.id AND attempt.outcome IN ('unknown', 'unclear')
              AND attempt.failed_at IS NULL
        ))
    );
BEGIN
    PERFORM finish_message(
        p_message => id, p_claims => NULL, p_status => 'sent',
        p_error => 'Watchword could not record whether it was sent; it may or may not have arrived.',
        p_retry_seconds => v_receipt_seconds, p_provider => NULL, p_provider_name => NULL, p_outcome => NULL,
        p_provider_message_id => NULL, p_provider_status => NULL, p_attempt_error => NULL, p_latency_ms => NULL,
        p_choice => NULL, p_segments => NULL, p_price => NULL, p_currency => NULL
    ) FROM unnest(v_may_be_sent) AS one (id);
    PERFORM close_expired(
        ARRAY(SELECT id FROM unnest(v_ids) AS one (id) WHERE id <> ALL (v_may_be_sent)), 'It could not be sent in time.'
    );
    RETURN cardinality(v_ids) + close_unconfirmed(p_limit - cardinality(v_ids));
END
$$;

-- Close up to p_limit sent messages whose provider's receipt did not come within its window.
CREATE OR REPLACE FUNCTION close_unconfirmed(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[] := ARRAY(
        SELECT id FROM verification_message
        WHERE status = 'sent' AND due_at <= clock_timestamp()
        ORDER BY due_at
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    );
BEGIN
    PERFORM close_expired(v_ids, 'No delivery receipt came in time.');
    RETURN cardinality(v_ids);
END
$$;

-- Do what finish_message does for 'expired', for many messages in one statement. The caller holds their locks. A message
-- that a worker has claimed, or died with, may have been sent, so it goes on counting in the limits.
CREATE OR REPLACE FUNCTION close_expired(p_ids bigint[], p_error text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_freed record;
BEGIN
    FOR v_freed IN
        WITH closed AS (
            UPDATE verification_message AS m SET
                status = 'expired',
                error = p_error,
                claimed_at = NULL,
                due_at = v_now,
                finished_at = v_now,
                -- As in finish_message: the next channel may have to take a code whose receipt did not come in time.
                code_encrypted = CASE
                    WHEN before.status = 'sent' AND m.fallback_at IS NOT NULL AND m.session_id IS NULL THEN m.code_encrypted
                END,
                is_counted = m.is_counted AND (m.lost_leases > 0 OR before.claimed_at IS NOT NULL OR EXISTS (
                    SELECT FROM verification_deliveryattempt AS attempt
                    WHERE attempt.message_id = m.id AND attempt.outcome IN ('accepted', 'unknown', 'unclear')
                ))
            FROM verification_message AS before
            WHERE m.id = ANY (p_ids) AND before.id = m.id
            RETURNING m.id, m.project_id, m.channel, m.created_at,
                before.is_counted AND NOT m.is_counted AS is_freed, m.is_budgeted
        ), unguarded AS (
            DELETE FROM verification_guardedsend USING closed WHERE message_id = closed.id AND closed.is_freed
        )
        SELECT project_id, channel, (created_at AT TIME ZONE 'UTC')::date AS day, count(*)::integer AS messages
        FROM closed WHERE is_freed AND is_budgeted
        GROUP BY 1, 2, 3
        ORDER BY 1, 2, 3  -- daily budgets are locked in one order by all
    LOOP
        UPDATE verification_dailyspend SET messages = greatest(messages - v_freed.messages, 0)
        WHERE project_id = v_freed.project_id AND channel = v_freed.channel AND day = v_freed.day;
    END LOOP;
    PERFORM note_message_end(id) FROM unnest(p_ids) AS closed (id);
END
$$;
