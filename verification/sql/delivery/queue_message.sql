-- Write one message if the limits allow it. The caller holds the recipient's lock.
--
-- The limits are counted from rows, and so exactly. First come the sends of the session, at most 5, or 20 with
-- those that failed at every provider, which strangers could else repeat without an end. Then come the sends to
-- the recipient and to those who share the mailbox (see key_of_mailbox), by the windows of the terms. The channel's budget of the day is last,
-- by one conditional update. What was made in this transaction has no rows yet, and none are counted: p_is_new_recipient,
-- p_is_new_session.
-- A test login's messages are final at once, count in no limit and reach nobody.
--
-- p_suppressed are the channels over which nothing goes to the recipient. p_guard is what the traffic guard needs to know,
-- as in guard_refuses. Of p_terms (services/projects/project_terms.py) these are read:
--   sends    {"windows": as in longest_wait, "seconds": the longest window, "rows": the highest limit}
--   budgets  {"sms": messages a day} where the owner set one
--   waits    the project's order of fall-back as {channel: seconds}. If it names any, the message of a session notes when
--            the next channel is due.
--   platform_sms_a_day, erased  as in wait_for_all_projects
-- p_request, p_caller_request and p_subnet are the request's, as in the table; empty where the session's row has them.
--
-- Outcome: 'queued', 'suppressed', 'session_sends', 'too_many_sends', 'over_platform_limit', 'guarded' or
-- 'over_budget'.
CREATE OR REPLACE FUNCTION queue_message(
    p_message bigint, p_project bigint, p_recipient bigint, p_address text, p_mailbox text, p_is_new_recipient boolean,
    p_session text, p_is_new_session boolean, p_channel text, p_language text, p_expires_at timestamptz, p_code_encrypted bytea,
    p_callback_url text, p_provider bigint, p_is_test boolean, p_suppressed text[], p_terms jsonb, p_guard jsonb,
    p_now timestamptz, p_request uuid, p_caller_request text, p_subnet text,
    OUT outcome text, OUT retry_after integer
) LANGUAGE plpgsql AS $$
DECLARE
    v_session_sends constant integer := 5;
    v_session_messages constant integer := 20;
    v_mailbox constant bigint := key_of_mailbox(p_project, p_mailbox);
    v_usual_wait constant integer := 30;  -- seconds, for a channel that the order of fall-back does not name
    v_is_guarded constant boolean := is_guarded(p_channel, p_guard) AND NOT p_is_test;
    v_is_handed constant boolean := coalesce((p_guard -> 'is_handed')::boolean, false);
    v_budget constant integer := CASE WHEN NOT p_is_test THEN p_terms -> 'budgets' ->> p_channel END;
    v_sends jsonb;
    v_since timestamptz;
    v_moments timestamptz[];
    v_today constant date := (p_now AT TIME ZONE 'UTC')::date;
BEGIN
    outcome := 'queued';
    IF NOT p_is_test THEN
        IF p_channel = ANY (p_suppressed) THEN
            outcome := 'suppressed';
            RETURN;
        END IF;
        IF p_session IS NOT NULL AND NOT p_is_new_session AND (
            SELECT count(*) FILTER (WHERE is_counted) >= v_session_sends OR count(*) >= v_session_messages
            FROM verification_message WHERE session_id = p_session
        ) THEN
            outcome := 'session_sends';
            RETURN;
        END IF;

        IF v_mailbox IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock(v_mailbox);  -- no other session counts sends to the mailbox until we commit
        END IF;
        IF NOT p_is_new_recipient OR v_mailbox IS NOT NULL THEN
            v_sends := p_terms -> 'sends';
            v_since := p_now - make_interval(secs => (v_sends ->> 'seconds')::integer);
            v_moments := ARRAY(
                SELECT sent.created_at FROM (
                    (
                        SELECT created_at FROM verification_message
                        WHERE recipient_id = p_recipient AND mailbox IS NULL AND is_counted
                          AND created_at > v_since AND created_at <= latest_past(p_now)
                        ORDER BY created_at DESC
                        LIMIT (v_sends ->> 'rows')::integer
                    ) UNION ALL (  -- compared as a pair, so that the one index of the mailboxes serves
                        SELECT created_at FROM verification_message
                        WHERE (mailbox, created_at) > (v_mailbox, v_since) AND is_counted
                          AND (mailbox, created_at) <= (v_mailbox, latest_past(p_now)) AND mailbox IS NOT NULL
                        ORDER BY mailbox DESC, created_at DESC
                        LIMIT (v_sends ->> 'rows')::integer
                    )
                ) AS sent
                ORDER BY sent.created_at DESC
                LIMIT (v_sends ->> 'rows')::integer
            );
            IF v_moments <> '{}' THEN
                retry_after := longest_wait(v_moments, v_sends -> 'windows', 1, false, p_now);
                IF retry_after > 0 THEN
                    outcome := 'too_many_sends';
                    RETURN;
                END IF;
                retry_after := NULL;
            END IF;
        END IF;

        IF p_channel = 'sms' AND (p_terms -> 'platform_sms_a_day')::integer > 0 THEN
            retry_after := wait_for_all_projects(
                p_recipient, p_address, p_terms ->> 'erased', (p_terms -> 'platform_sms_a_day')::integer, p_now
            );
            IF retry_after > 0 THEN
                outcome := 'over_platform_limit';
                RETURN;
            END IF;
            retry_after := NULL;
        END IF;

        -- A spent budget refuses before the guard does. Else only known numbers would hear of it, whom the guard spares.
        IF v_is_guarded AND v_budget <= coalesce((
            SELECT messages FROM verification_dailyspend
            WHERE project_id = p_project AND channel = p_channel AND day = v_today
        ), 0) THEN
            outcome := 'over_budget';
            retry_after := ceil(extract(epoch FROM (v_today + 1)::timestamp AT TIME ZONE 'UTC' - p_now));
            RETURN;
        END IF;

        IF v_is_guarded AND guard_refuses(p_project, p_recipient, p_guard, p_now) THEN
            outcome := 'guarded';
            RETURN;
        END IF;

        IF v_budget IS NOT NULL THEN
            INSERT INTO verification_dailyspend AS spend (project_id, channel, day, messages)
            SELECT p_project, p_channel, v_today, 1 WHERE v_budget > 0
            ON CONFLICT (project_id, channel, day) DO UPDATE
                SET messages = spend.messages + 1 WHERE spend.messages < v_budget;
            IF NOT FOUND THEN
                outcome := 'over_budget';
                retry_after := ceil(extract(epoch FROM (v_today + 1)::timestamp AT TIME ZONE 'UTC' - p_now));
                RETURN;
            END IF;
        END IF;
    END IF;

    INSERT INTO verification_message (
        id, project_id, recipient_id, mailbox, session_id, channel, language, status, is_test, is_counted, is_budgeted,
        code_encrypted, callback_url, pinned_provider_id, claims, lost_leases, is_handed_over, created_at, due_at,
        expires_at, finished_at, fallback_at, request, caller_request, subnet
    ) VALUES (
        p_message, p_project, p_recipient, v_mailbox, p_session, p_channel, p_language,
        CASE WHEN p_is_test THEN 'success' ELSE 'queued' END, p_is_test, NOT p_is_test, v_budget IS NOT NULL,
        CASE WHEN NOT p_is_test THEN p_code_encrypted END, p_callback_url, p_provider, 0, 0, false, p_now, p_now,
        p_expires_at, CASE WHEN p_is_test THEN p_now END,
        CASE WHEN p_session IS NOT NULL AND NOT p_is_test AND p_terms -> 'waits' <> '{}' THEN
            p_now + make_interval(secs => coalesce((p_terms -> 'waits' ->> p_channel)::integer, v_usual_wait))
        END, p_request, p_caller_request, p_subnet
    );
    IF v_is_guarded THEN
        INSERT INTO verification_guardedsend (
            message_id, project_id, recipient_id, prefix, country, network, is_manual, is_handed, created_at
        ) VALUES (
            p_message, p_project, p_recipient, p_guard ->> 'prefix', p_guard ->> 'country',
            coalesce(p_guard ->> 'network', ''), p_session IS NULL AND NOT v_is_handed, v_is_handed, p_now
        );
    END IF;
    IF p_is_test AND (p_callback_url <> '' OR p_terms ? 'events') THEN
        PERFORM note_message_end(p_message);
    END IF;
END
$$;

-- Return the number under which sends to a mailbox are counted, and that is locked meanwhile: recipients such as a+1@ and
-- a+2@ share one. Messages carry it, as anybody can make recipients of one mailbox without an end. Null for a phone number.
CREATE OR REPLACE FUNCTION key_of_mailbox(p_project bigint, p_mailbox text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT hashtextextended(p_mailbox, p_project)
$$;

-- Lock a recipient, and create it if it is new (is_new). No other session counts or writes for it until we commit. A
-- statement that starts after this call sees what the last holder of the lock committed.
-- p_forgotten is the recipient's name for a day after an erasure: a recipient who comes back keeps that day's counts.
-- reached_channel, for whoever never verified: the channel of the last of 50 messages that reached them, or whose receipt
-- may still come. Nobody writes it down when a message was sent: the user's check, which may come a moment later, would wait
-- for that commit.
CREATE OR REPLACE FUNCTION lock_recipient(
    p_project bigint, p_address text, p_forgotten text,
    OUT id bigint, OUT mailbox text, OUT language text, OUT verified_channel text, OUT verified_at timestamptz,
    OUT reached_channel text, OUT is_new boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    LOOP
        SELECT r.id, r.mailbox, r.language, r.verified_channel, r.verified_at, false
        INTO id, mailbox, language, verified_channel, verified_at, is_new
        FROM verification_recipient AS r
        WHERE r.project_id = p_project AND r.address = p_address
        FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO verification_recipient AS r (project_id, address, mailbox, language, verified_channel)
        SELECT p_project, p_address, CASE WHEN p_address LIKE '%@%' THEN mailbox_of(p_address) END, '', ''
        WHERE NOT EXISTS (
            SELECT FROM verification_recipient AS forgotten
            WHERE forgotten.project_id = p_project AND forgotten.address = p_forgotten
        )
        ON CONFLICT (project_id, address) DO NOTHING  -- somebody else was first, whose row is locked in the next round
        RETURNING r.id, r.mailbox, '', '', NULL, true
        INTO id, mailbox, language, verified_channel, verified_at, is_new;
        EXIT WHEN FOUND;
        UPDATE verification_recipient AS r
        SET address = p_address, mailbox = mailbox_of(p_address), forgotten_at = NULL, erased_hash = NULL
        WHERE r.project_id = p_project AND r.address = p_forgotten
        RETURNING r.id, r.mailbox, r.language, r.verified_channel, r.verified_at, false
        INTO id, mailbox, language, verified_channel, verified_at, is_new;
        EXIT WHEN FOUND;
    END LOOP;
    IF verified_channel = '' AND NOT is_new THEN
        SELECT message.channel INTO reached_channel
        FROM (
            SELECT newest.channel, newest.status, newest.sent_at, newest.created_at
            FROM verification_message AS newest
            WHERE newest.recipient_id = lock_recipient.id
            ORDER BY newest.created_at DESC
            LIMIT 50
        ) AS message
        WHERE message.sent_at IS NOT NULL AND message.status IN ('sent', 'success')
        ORDER BY message.created_at DESC
        LIMIT 1;
    END IF;
END
$$;

-- The mailbox behind an e-mail address, as far as addresses tell: without a tag, and at Gmail without dots. Null for what
-- is no e-mail address.
CREATE OR REPLACE FUNCTION mailbox_of(p_address text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_name constant text := split_part(split_part(p_address, '@', 1), '+', 1);
BEGIN
    RETURN CASE
        WHEN p_address ~ '@(gmail|googlemail)[.]com$' THEN replace(v_name, '.', '') || '@gmail.com'
        WHEN p_address LIKE '%@%' THEN v_name || '@' || split_part(p_address, '@', 2)
    END;
END
$$;

-- Lock the recipient of a session of this project. All is null where there is no such session.
CREATE OR REPLACE FUNCTION lock_recipient_of(
    p_project bigint, p_session text, OUT id bigint, OUT address text, OUT mailbox text, OUT verified_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    SELECT s.recipient_id INTO id FROM verification_session AS s WHERE s.id = p_session AND s.project_id = p_project;
    SELECT r.id, r.address, r.mailbox, r.verified_at INTO id, address, mailbox, verified_at
    FROM verification_recipient AS r WHERE r.id = lock_recipient_of.id
    FOR NO KEY UPDATE;
END
$$;

-- Write the message of a manual send, under the recipient's lock. An empty p_language is the recipient's, or the project's. p_messengers is as in active_messengers, for the
-- requested channel and provider; it is empty for any channel that is no messenger. p_terms are as in queue_message.
-- Outcome: one of queue_message's, or 'channel_not_active'.
CREATE OR REPLACE FUNCTION queue_manual_message(
    p_message bigint, p_project bigint, p_address text, p_forgotten text, p_channel text, p_messengers jsonb,
    p_code_encrypted bytea, p_callback_url text, p_provider bigint, p_lives_seconds integer, p_is_test boolean,
    p_terms jsonb, p_guard jsonb, p_language text, p_request uuid, p_caller_request text, p_subnet text,
    OUT outcome text, OUT retry_after integer
) LANGUAGE plpgsql AS $$
DECLARE
    v_recipient record;
    v_queued record;
    v_now timestamptz;
BEGIN
    v_recipient := lock_recipient(p_project, p_address, p_forgotten);
    v_now := clock_timestamp();
    IF NOT p_is_test AND p_messengers <> '{}' AND active_messengers(v_recipient.id, p_messengers) = '{}' THEN
        outcome := 'channel_not_active';
    ELSE
        v_queued := queue_message(
            p_message => p_message, p_project => p_project, p_recipient => v_recipient.id, p_address => p_address,
            p_mailbox => v_recipient.mailbox, p_is_new_recipient => v_recipient.is_new, p_session => NULL,
            p_is_new_session => false, p_channel => p_channel,
            p_language => coalesce(nullif(p_language, ''), nullif(v_recipient.language, ''), p_terms ->> 'language'),
            p_expires_at => v_now + make_interval(secs => p_lives_seconds), p_code_encrypted => p_code_encrypted,
            p_callback_url => p_callback_url, p_provider => p_provider, p_is_test => p_is_test,
            p_suppressed => CASE WHEN v_recipient.is_new THEN '{}' ELSE suppressed_channels(v_recipient.id) END,
            p_terms => p_terms, p_guard => p_guard, p_now => v_now, p_request => p_request,
            p_caller_request => p_caller_request, p_subnet => p_subnet
        );
        outcome := v_queued.outcome;
        retry_after := v_queued.retry_after;
    END IF;
    IF outcome <> 'queued' AND v_recipient.is_new THEN
        DELETE FROM verification_recipient WHERE id = v_recipient.id;  -- nothing was sent, so nothing stays written
    END IF;
END
$$;
