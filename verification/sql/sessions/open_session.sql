-- Return the recipient's open session, or open one, and queue its message: one round trip, one transaction.
--
-- The recipient's row is locked first. Each later statement of this VOLATILE function then sees what the lock's last
-- holder committed, because under READ COMMITTED every statement has a fresh snapshot. So parallel calls for one
-- recipient give one session and one message. A recipient whom this call creates has no other rows, and none is looked
-- for. A new session is written once, at the end.
--
-- p_forgotten  as in lock_recipient
-- p_type      the channel asked for, or null to choose
-- p_channels  what the project can send over to this kind of recipient, in the order of preference
-- p_test_login  the revision of the test login that the code belongs to, or null; the session ends with that revision.
-- p_challenge  the digest of the answer by which the caller passed a challenge, or null; the answer is used up here.
-- p_terms     the project's terms for the recipient (services/projects/project_terms.py)
-- p_guard     the traffic guard's terms, as in guard_refuses
-- p_request, p_caller_request, p_subnet  kept with the session, or with the message of a session that was open already
--
-- Outcome: 'opened' (also for a session returned as it stands), 'challenge_used', 'too_many_attempts',
-- 'session_sends', 'too_many_sends', 'suppressed', 'guarded', 'over_budget', or 'renew'.
-- 'renew': the open session is due for a send, and its project draws a new code for each. The caller draws it for the
-- session's id and calls send_code.
CREATE OR REPLACE FUNCTION open_session(
    p_project bigint, p_address text, p_forgotten text, p_session text, p_code_digest bytea, p_code_encrypted bytea,
    p_code_length integer, p_code_digits boolean, p_code_letters boolean, p_attempts_max integer,
    p_link_payload text, p_lives_seconds integer, p_language text, p_test_login uuid, p_challenge bytea,
    p_send boolean, p_type text, p_channels text[], p_message bigint, p_terms jsonb, p_guard jsonb,
    p_request uuid, p_caller_request text, p_subnet text,
    OUT outcome text, OUT retry_after integer, OUT session_id text, OUT expires_at timestamptz, OUT sent_to text,
    OUT message_id bigint, OUT blocks jsonb, OUT active text[], OUT link_payload text
) LANGUAGE plpgsql AS $$
DECLARE
    v_messengers constant jsonb := p_terms -> 'messengers';
    v_recipient record;
    v_queued record;
    v_now timestamptz;
    v_session verification_session;
    v_is_returned boolean := false;
    v_suppressed text[] := '{}';
    v_channel text;
    v_guard jsonb;
    v_refusal text := '';  -- why the code does not go out, or not over the channel that came first
BEGIN
    IF p_challenge IS NOT NULL AND NOT use_challenge(p_project, p_challenge) THEN
        outcome := 'challenge_used';
        RETURN;
    END IF;
    v_recipient := lock_recipient(p_project, p_address, p_forgotten);
    v_now := clock_timestamp();
    blocks := '{}';
    IF NOT v_recipient.is_new THEN
        SELECT * INTO v_session FROM verification_session AS s WHERE s.recipient_id = v_recipient.id AND s.is_open;
        v_is_returned := FOUND;
        IF v_is_returned AND session_state(v_session, v_now) <> 'open' THEN
            UPDATE verification_session SET is_open = false WHERE id = v_session.id;
            v_is_returned := false;
        END IF;
        IF v_is_returned AND p_challenge IS NOT NULL THEN
            UPDATE verification_session SET is_challenged = true WHERE id = v_session.id AND NOT is_challenged;
        END IF;
        retry_after := wrong_codes_wait(
            v_recipient.id, v_recipient.verified_at, p_terms -> 'wrong_codes',
            CASE WHEN v_is_returned THEN v_session.code_length ELSE p_code_length END,
            p_challenge IS NOT NULL OR v_is_returned AND v_session.is_challenged, v_now
        );
        IF retry_after > 0 THEN
            outcome := 'too_many_attempts';
            RETURN;
        END IF;
        retry_after := NULL;
        blocks := channel_blocks(v_recipient.id, v_now);
    END IF;
    IF NOT v_is_returned THEN
        v_session.id := p_session;
        v_session.expires_at := v_now + make_interval(secs => p_lives_seconds);
        v_session.channel := '';
        v_session.awaited_channel := '';
        v_session.refusal := '';
        v_session.language := coalesce(p_language, nullif(v_recipient.language, ''), p_terms ->> 'language');
        v_session.is_test := p_test_login IS NOT NULL;
        v_session.link_payload := p_link_payload;
    END IF;
    active := CASE WHEN v_messengers = '{}' THEN '{}' ELSE active_messengers(v_recipient.id, v_messengers) END;
    IF NOT (v_recipient.is_new OR v_session.is_test) THEN
        v_suppressed := suppressed_channels(v_recipient.id);
    END IF;

    LOOP
        v_channel := coalesce(p_type, choose_channel(
            coalesce(nullif(v_recipient.verified_channel, ''), v_recipient.reached_channel), p_channels, v_suppressed,
            v_messengers, active
        ));
        EXIT WHEN NOT p_send;
        IF NOT v_session.is_test AND v_messengers ? v_channel AND v_channel <> ALL (active) THEN
            v_session.awaited_channel := v_channel;  -- the code waits for the user to start the messenger's bot
            EXIT;
        END IF;
        -- (To a test login nothing is sent, so it needs no bot, and a block keeps none of its new sessions from its code.)
        IF blocks ? v_channel AND NOT (v_session.is_test AND v_session.channel = '') THEN
            v_refusal := 'channel_timeout';
            EXIT;
        END IF;

        -- The traffic guard has no say over the other channels: if it refuses, the code goes that way, where there is one.
        IF is_guarded(v_channel, p_guard) THEN
            v_guard := p_guard || jsonb_build_object(
                'goes_elsewhere', p_type IS NULL AND NOT p_channels <@ (v_suppressed || '{sms,voice}'),
                'passed', p_challenge IS NOT NULL OR v_is_returned AND v_session.is_challenged
            );
        END IF;
        IF NOT (v_is_returned AND (p_terms -> 'draws_new_code')::boolean) OR v_session.is_test THEN
            v_queued := queue_message(
                p_message => p_message, p_project => p_project, p_recipient => v_recipient.id, p_address => p_address,
                p_mailbox => v_recipient.mailbox, p_is_new_recipient => v_recipient.is_new, p_session => v_session.id,
                p_is_new_session => NOT v_is_returned, p_channel => v_channel, p_language => v_session.language,
                p_expires_at => v_session.expires_at, p_code_encrypted => NULL, p_callback_url => '', p_provider => NULL,
                p_is_test => v_session.is_test, p_suppressed => v_suppressed, p_terms => p_terms, p_guard => v_guard,
                p_now => v_now, p_request => CASE WHEN v_is_returned THEN p_request END,
                p_caller_request => CASE WHEN v_is_returned THEN p_caller_request ELSE '' END,
                p_subnet => CASE WHEN v_is_returned THEN p_subnet ELSE '' END
            );
            outcome := v_queued.outcome;
            retry_after := v_queued.retry_after;
        ELSIF is_guarded(v_channel, p_guard) AND guard_refuses(p_project, v_recipient.id, v_guard, v_now) THEN
            outcome := 'guarded';
        ELSE
            outcome := 'renew';
            session_id := v_session.id;
            sent_to := v_channel;
            RETURN;
        END IF;
        IF outcome = 'guarded' AND (v_guard -> 'goes_elsewhere')::boolean THEN
            v_refusal := outcome;
            v_suppressed := v_suppressed || '{sms,voice}';
            CONTINUE;
        END IF;
        IF outcome <> 'queued' THEN
            -- Nothing was sent, so nothing stays written.
            IF v_is_returned THEN
                PERFORM note_session_refusal(v_session.id, outcome);
            ELSIF v_recipient.is_new THEN
                DELETE FROM verification_recipient WHERE id = v_recipient.id;
            END IF;
            sent_to := v_channel;
            RETURN;
        END IF;
        v_session.channel := v_channel;
        v_session.awaited_channel := '';
        blocks := blocks || jsonb_build_object(v_channel, 60);
        IF NOT v_session.is_test THEN
            message_id := p_message;
        END IF;
        EXIT;
    END LOOP;

    -- Where the code went out, the reason why not over the first channel; where it never did, the reason why not.
    IF outcome = 'queued' OR v_refusal <> '' AND v_session.channel = '' THEN
        v_session.refusal := v_refusal;
    END IF;
    IF NOT v_is_returned THEN
        INSERT INTO verification_session (
            id, project_id, recipient_id, language, code_digest, code_encrypted, code_length, code_digits,
            code_letters, channel, awaited_channel, refusal, link_payload, is_open, is_link_used, is_test, test_login,
            is_challenged, attempts, attempts_max, created_at, expires_at, request, caller_request, subnet
        ) VALUES (
            p_session, p_project, v_recipient.id, v_session.language, p_code_digest, p_code_encrypted, p_code_length,
            p_code_digits, p_code_letters, v_session.channel, v_session.awaited_channel, v_session.refusal,
            p_link_payload, true, false, v_session.is_test, p_test_login, p_challenge IS NOT NULL, 0, p_attempts_max,
            v_now, v_session.expires_at, p_request, p_caller_request, p_subnet
        );
        IF p_terms ? 'events' THEN
            PERFORM note_session_event(
                p_terms -> 'events', 'session.opened', p_project, p_session, v_session.channel, '', ''
            );
            IF p_attempts_max = 0 THEN  -- a recipient of the sandbox whose session is locked from the start
                PERFORM note_session_event(
                    p_terms -> 'events', 'session.locked', p_project, p_session, v_session.channel, '', ''
                );
            END IF;
        END IF;
    ELSIF p_send THEN
        UPDATE verification_session AS s
        SET channel = v_session.channel, awaited_channel = v_session.awaited_channel, refusal = v_session.refusal
        WHERE s.id = v_session.id
          AND (s.channel, s.awaited_channel, s.refusal)
              <> (v_session.channel, v_session.awaited_channel, v_session.refusal);
        -- Blocked at the first channel, with nothing to write down: this commit has only the lock to tell, and need not
        -- wait for the disk. The session was there when its own commit had been waited for.
        IF NOT FOUND AND v_refusal = 'channel_timeout' AND v_guard IS NULL AND p_challenge IS NULL THEN
            PERFORM set_config('synchronous_commit', 'off', true);
        END IF;
    END IF;
    outcome := 'opened';
    retry_after := NULL;
    session_id := v_session.id;
    expires_at := v_session.expires_at;
    sent_to := nullif(v_session.channel, '');
    link_payload := v_session.link_payload;
END
$$;

-- The channel for a code whose caller names none: the first of the project's order, and before it the one that
-- p_preferred names, over which they last verified, or a code last reached them. If none can be used at once, a messenger
-- that the user has yet to start, unless they have opted out of everything.
CREATE OR REPLACE FUNCTION choose_channel(
    p_preferred text, p_channels text[], p_suppressed text[], p_messengers jsonb, p_active text[]
) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT candidate
        FROM unnest(p_preferred || p_channels) WITH ORDINALITY AS preference (candidate, place)
        WHERE candidate = ANY (p_channels) AND candidate <> ALL (p_suppressed)
        ORDER BY p_messengers ? candidate AND candidate <> ALL (p_active), place LIMIT 1
    ), p_channels[1]);
END
$$;
