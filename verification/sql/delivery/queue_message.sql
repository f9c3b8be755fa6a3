-- Write one message if the limits allow it. The caller holds the recipient's lock.
--
-- The limits are counted from rows, and so exactly. First come the sends of the session, at most 5. Then come the sends to
-- the recipient and to those who share the mailbox, by p_limits = {10 minutes, hour, day}. The channel's budget of the day
-- is last, by one conditional update.
-- A test login's messages are final at once, count in no limit and reach nobody.
--
-- p_waits is the project's order of fall-back as {channel: seconds}. If it names any, the message notes when the next
-- channel is due. p_guard is what the traffic guard needs to know, as in guard_refuses.
--
-- Outcome: 'queued', 'suppressed', 'session_sends', 'too_many_sends', 'over_platform_limit', 'guarded' or
-- 'over_budget'.
CREATE OR REPLACE FUNCTION queue_message(
    p_message bigint, p_project bigint, p_recipient bigint, p_session text, p_channel text, p_language text,
    p_expires_at timestamptz, p_code_encrypted bytea, p_callback_url text, p_provider bigint,
    p_is_test boolean, p_limits integer[], p_budget integer, p_waits jsonb, p_guard jsonb, p_now timestamptz,
    OUT outcome text, OUT retry_after integer
) LANGUAGE plpgsql AS $$
DECLARE
    v_session_sends constant integer := 5;
    v_usual_wait constant integer := 30;  -- seconds, for a channel that the order of fall-back does not name
    v_today constant date := (p_now AT TIME ZONE 'UTC')::date;
    v_is_guarded constant boolean := is_guarded(p_channel, p_guard) AND NOT p_is_test;
    v_is_budgeted constant boolean := p_budget IS NOT NULL AND NOT p_is_test;
    v_sharers bigint[];
    v_moments timestamptz[];
BEGIN
    outcome := 'queued';
    IF NOT p_is_test THEN
        IF p_channel = ANY (suppressed_channels(p_recipient)) THEN
            outcome := 'suppressed';
            RETURN;
        END IF;
        IF p_session IS NOT NULL AND v_session_sends <= (
            SELECT count(*) FROM verification_message WHERE session_id = p_session AND is_counted
        ) THEN
            outcome := 'session_sends';
            RETURN;
        END IF;

        v_sharers := lock_mailbox(p_project, p_recipient);
        v_moments := ARRAY(
            SELECT sent.created_at FROM unnest(v_sharers) AS sharer (id)
            CROSS JOIN LATERAL (  -- of several at once, no index has the newest first but that of all recipients
                SELECT created_at FROM verification_message
                WHERE recipient_id = sharer.id AND is_counted
                  AND created_at > p_now - interval '1 day' AND created_at <= latest_past(p_now)
                ORDER BY created_at DESC
                LIMIT greatest(p_limits[1], p_limits[2], p_limits[3])
            ) AS sent
            ORDER BY sent.created_at DESC
            LIMIT greatest(p_limits[1], p_limits[2], p_limits[3])
        );
        retry_after := greatest(
            seconds_until_below(v_moments, p_limits[1], interval '10 minutes', p_now),
            seconds_until_below(v_moments, p_limits[2], interval '1 hour', p_now),
            seconds_until_below(v_moments, p_limits[3], interval '1 day', p_now)
        );
        IF retry_after > 0 THEN
            outcome := 'too_many_sends';
            RETURN;
        END IF;
        retry_after := NULL;

        IF p_channel = 'sms' THEN
            retry_after := platform_wait(p_recipient, p_now);
            IF retry_after > 0 THEN
                outcome := 'over_platform_limit';
                RETURN;
            END IF;
            retry_after := NULL;
        END IF;

        IF v_is_guarded AND guard_refuses(p_project, p_recipient, p_guard, p_now) THEN
            outcome := 'guarded';
            RETURN;
        END IF;

        IF v_is_budgeted THEN
            INSERT INTO verification_dailyspend AS spend (project_id, channel, day, messages)
            SELECT p_project, p_channel, v_today, 1 WHERE p_budget > 0
            ON CONFLICT (project_id, channel, day) DO UPDATE
                SET messages = spend.messages + 1 WHERE spend.messages < p_budget;
            IF NOT FOUND THEN
                outcome := 'over_budget';
                retry_after := ceil(extract(epoch FROM (v_today + 1)::timestamp AT TIME ZONE 'UTC' - p_now));
                RETURN;
            END IF;
        END IF;
    END IF;

    INSERT INTO verification_message (
        id, project_id, recipient_id, session_id, channel, language, status, is_test, is_counted, is_budgeted,
        code_encrypted, callback_url, pinned_provider_id, claims, lost_leases, created_at, due_at, expires_at, finished_at, fallback_at
    ) VALUES (
        p_message, p_project, p_recipient, p_session, p_channel, p_language,
        CASE WHEN p_is_test THEN 'success' ELSE 'queued' END, p_is_test, NOT p_is_test,
        v_is_budgeted, CASE WHEN p_is_test THEN NULL ELSE p_code_encrypted END, p_callback_url, p_provider, 0, 0, p_now, p_now,
        p_expires_at, CASE WHEN p_is_test THEN p_now END,
        CASE WHEN p_waits <> '{}' AND NOT p_is_test THEN
            p_now + make_interval(secs => coalesce((p_waits ->> p_channel)::integer, v_usual_wait))
        END
    );
    IF v_is_guarded THEN
        INSERT INTO verification_guardedsend (
            message_id, project_id, recipient_id, prefix, country, is_manual, created_at
        ) VALUES (
            p_message, p_project, p_recipient, p_guard ->> 'prefix', p_guard ->> 'country', p_session IS NULL, p_now
        );
    END IF;
    IF p_is_test AND p_callback_url <> '' THEN
        INSERT INTO verification_callback (message_id, project_id, url, tries)
        VALUES (p_message, p_project, p_callback_url, 0);
    END IF;
END
$$;

-- Return this recipient and those that share its mailbox and so its limits of sends, such as a+1@ and a+2@. For an e-mail
-- address this locks the mailbox: no other session counts sends to it until we commit. The caller holds the recipient's
-- lock.
CREATE OR REPLACE FUNCTION lock_mailbox(p_project bigint, p_recipient bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_mailbox constant text := (SELECT mailbox FROM verification_recipient WHERE id = p_recipient);
BEGIN
    IF v_mailbox IS NULL THEN
        RETURN ARRAY[p_recipient];
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(v_mailbox, p_project));
    RETURN ARRAY(SELECT id FROM verification_recipient WHERE project_id = p_project AND mailbox = v_mailbox);
END
$$;

-- Lock a recipient, and create it if it is new. No other session counts or writes for it until we commit. A statement
-- that starts after this call sees what the last holder of the lock committed.
-- p_forgotten is the recipient's name for a day after an erasure: a recipient who comes back keeps that day's counts.
CREATE OR REPLACE FUNCTION lock_recipient(p_project bigint, p_address text, p_forgotten text)
RETURNS verification_recipient LANGUAGE plpgsql AS $$
DECLARE
    v_recipient verification_recipient;
BEGIN
    SELECT * INTO v_recipient FROM verification_recipient
    WHERE project_id = p_project AND address = p_address
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        UPDATE verification_recipient SET address = p_address, forgotten_at = NULL
        WHERE project_id = p_project AND address = p_forgotten
        RETURNING * INTO v_recipient;
    END IF;
    IF NOT FOUND THEN
        INSERT INTO verification_recipient (project_id, address, language, verified_channel, reached_channel)
        VALUES (p_project, p_address, '', '', '')
        ON CONFLICT (project_id, address) DO UPDATE SET address = excluded.address  -- locks the one who was first
        RETURNING * INTO v_recipient;
    END IF;
    RETURN v_recipient;
END
$$;

-- Delete a recipient that this call created and that has no session and no message. The caller holds its lock.
CREATE OR REPLACE FUNCTION drop_unused_recipient(p_recipient verification_recipient) RETURNS void LANGUAGE sql AS $$
    DELETE FROM verification_recipient AS recipient
    WHERE recipient.id = p_recipient.id
      AND recipient.created_at = statement_timestamp()
      AND NOT EXISTS (SELECT FROM verification_session WHERE recipient_id = recipient.id)
      AND NOT EXISTS (SELECT FROM verification_message WHERE recipient_id = recipient.id)
$$;

-- Write the message of a manual send, under the recipient's lock. p_messengers is as in active_messengers, for the
-- requested channel and provider; it is empty for any channel that is no messenger. Outcome: one of queue_message's, or
-- 'channel_not_active'.
CREATE OR REPLACE FUNCTION queue_manual_message(
    p_message bigint, p_project bigint, p_address text, p_forgotten text, p_channel text, p_messengers jsonb,
    p_language text,
    p_code_encrypted bytea, p_callback_url text, p_provider bigint, p_lives_seconds integer, p_is_test boolean, p_limits integer[],
    p_budget integer, p_guard jsonb,
    OUT outcome text, OUT retry_after integer
) LANGUAGE plpgsql AS $$
DECLARE
    v_recipient verification_recipient := lock_recipient(p_project, p_address, p_forgotten);
    v_now timestamptz := clock_timestamp();
BEGIN
    IF NOT p_is_test AND p_messengers <> '{}' AND active_messengers(v_recipient.id, p_messengers) = '{}' THEN
        outcome := 'channel_not_active';
        PERFORM drop_unused_recipient(v_recipient);
        RETURN;
    END IF;
    SELECT queued.outcome, queued.retry_after INTO outcome, retry_after
    FROM queue_message(
        p_message, p_project, v_recipient.id, NULL, p_channel,
        coalesce(nullif(v_recipient.language, ''), p_language), v_now + make_interval(secs => p_lives_seconds),
        p_code_encrypted, p_callback_url, p_provider, p_is_test, p_limits, p_budget, '{}', p_guard, v_now
    ) AS queued;
    IF outcome <> 'queued' THEN
        PERFORM drop_unused_recipient(v_recipient);
    END IF;
END
$$;
