-- Write the message of a code that an identity system handed over, under the recipient's lock: as a manual send, but over
-- the channel that is chosen as for a session, and judged by the traffic guard as a session's.
--
-- p_channels are those that may carry the code, in the order of preference; a single one is the one asked for. p_terms are
-- as in open_session, p_guard as in guard_refuses with "is_handed": true. p_fallback_of is the first message with the code,
-- where this one is sent because that one did not arrive; such a message goes on falling back.
-- Outcome: one of queue_message's, or 'channel_not_active'.
CREATE OR REPLACE FUNCTION queue_handed_code(
    p_message bigint, p_project bigint, p_address text, p_forgotten text, p_channels text[], p_connection bigint,
    p_fallback_of bigint, p_code_encrypted bytea, p_lives_seconds double precision, p_is_test boolean, p_terms jsonb,
    p_guard jsonb, p_language text, p_request uuid, p_caller_request text, p_subnet text,
    OUT outcome text, OUT retry_after integer, OUT channel text
) LANGUAGE plpgsql AS $$
DECLARE
    v_usual_wait constant integer := 30;  -- seconds, as in queue_message
    v_messengers constant jsonb := p_terms -> 'messengers';
    v_recipient record;
    v_queued record;
    v_now timestamptz;
    v_suppressed text[] := '{}';
    v_active text[];
    v_channel text;
    v_guard jsonb;
BEGIN
    v_recipient := lock_recipient(p_project, p_address, p_forgotten);
    v_now := clock_timestamp();
    v_active := CASE WHEN v_messengers = '{}' THEN '{}' ELSE active_messengers(v_recipient.id, v_messengers) END;
    IF NOT (v_recipient.is_new OR p_is_test) THEN
        v_suppressed := suppressed_channels(v_recipient.id);
    END IF;
    LOOP
        v_channel := choose_channel(
            coalesce(nullif(v_recipient.verified_channel, ''), v_recipient.reached_channel), p_channels, v_suppressed,
            v_messengers, v_active
        );
        IF NOT p_is_test AND v_messengers ? v_channel AND v_channel <> ALL (v_active) THEN
            outcome := CASE WHEN v_guard IS NULL THEN 'channel_not_active' ELSE 'guarded' END;
            EXIT;
        END IF;
        -- The traffic guard has no say over the other channels: if it refuses, the code goes that way, where there is one.
        v_guard := p_guard || jsonb_build_object('goes_elsewhere', is_guarded(v_channel, p_guard) AND EXISTS (
            SELECT FROM unnest(p_channels) AS other (name)
            WHERE name <> ALL (v_suppressed || '{sms,voice}') AND (NOT v_messengers ? name OR name = ANY (v_active))
        ));
        v_queued := queue_message(
            p_message => p_message, p_project => p_project, p_recipient => v_recipient.id, p_address => p_address,
            p_mailbox => v_recipient.mailbox, p_is_new_recipient => v_recipient.is_new, p_session => NULL,
            p_is_new_session => false, p_channel => v_channel,
            p_language => coalesce(nullif(p_language, ''), nullif(v_recipient.language, ''), p_terms ->> 'language'),
            p_expires_at => v_now + make_interval(secs => p_lives_seconds), p_code_encrypted => p_code_encrypted,
            p_callback_url => '', p_provider => NULL, p_is_test => p_is_test, p_suppressed => v_suppressed,
            p_terms => p_terms, p_guard => v_guard, p_now => v_now, p_request => p_request,
            p_caller_request => p_caller_request, p_subnet => p_subnet
        );
        outcome := v_queued.outcome;
        retry_after := v_queued.retry_after;
        EXIT WHEN NOT (outcome = 'guarded' AND (v_guard -> 'goes_elsewhere')::boolean);
        v_suppressed := v_suppressed || '{sms,voice}';
    END LOOP;
    channel := v_channel;
    IF outcome = 'queued' THEN
        UPDATE verification_message SET
            connection_id = p_connection,
            fallback_of_id = p_fallback_of,
            fallback_at = CASE WHEN NOT p_is_test AND p_terms -> 'waits' <> '{}' THEN
                v_now + make_interval(secs => coalesce((p_terms -> 'waits' ->> v_channel)::integer, v_usual_wait))
            END
        WHERE id = p_message;
    ELSIF v_recipient.is_new THEN
        DELETE FROM verification_recipient WHERE id = v_recipient.id;  -- nothing was sent, so nothing stays written
    END IF;
END
$$;
