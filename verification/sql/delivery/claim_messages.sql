-- Claim due messages for one worker. With p_message, claim the message that the worker was woken for.
--
-- Without, claim up to p_limit messages, the freshest first. Some have been due for p_idle_seconds: their wake-up was
-- lost. The others were claimed before and are due for their next try, for which there is no wake-up.
--
-- A wake-up that comes late shows that there is more to send than there are threads. Then the freshest due message is
-- claimed in place of p_message. Behind a backlog a new code is still of use, and an old one may no longer be.
--
-- A message that was handed over (hand_over.sql) is not due yet. A worker that holds connections (p_is_connected) claims
-- it all the same, by its id or as the freshest. `is_handed_over` tells the claimer not to hand it over once more.
--
-- Projects at their share of the worker's threads (p_full_projects) come after all others, and with p_others_only not at
-- all. To find the others' messages, a wake-up looks at the freshest 100 due messages, and the sweep at the freshest
-- 10,000. Behind a longer backlog a message is still claimed by its wake-up, however late. A retry there waits until the
-- backlog is shorter, at the latest until its messages expire.
--
-- A claim is a lease: `due_at` moves to its end, and if the worker dies, another one claims the message then. Rows that
-- another worker is just claiming are skipped. The result holds all that sending needs:
-- `is_over`: the code is no longer valid, or its user is in, and it must not be sent.
-- `unknown_at`: the providers whose outcome for this message is not known. They are never asked again. (A worker that died
-- with a lease recorded no outcome, so its message is tried once more, also at the same provider.)
-- `accounts`, for messengers: the recipient's accounts by bot.
-- `no_account_at`: the providers that said within the last day that the recipient has no account, or has opted out.
CREATE OR REPLACE FUNCTION claim_messages(
    p_message bigint, p_limit integer, p_lease_seconds integer, p_idle_seconds double precision, p_is_connected boolean,
    p_full_projects bigint[], p_others_only boolean
)
RETURNS TABLE (
    id bigint, project_id bigint, project jsonb, channel text, address text, language text, claims integer,
    lost_leases integer, session_id text, session_code bytea, manual_code bytea, pinned_provider_id bigint,
    lives_seconds double precision, is_over boolean, unknown_at bigint[],
    recipient_id bigint, accounts jsonb, no_account_at bigint[], is_handed_over boolean
)
-- PostgreSQL would plan the statements below at every call, which takes longer than running them for a few ids.
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_late constant interval := '0.25 seconds';
    -- For statements that know the ids. Literals here would let PostgreSQL choose the index of all waiting messages.
    v_waiting constant text[] := '{queued,sending}';
    v_now timestamptz := clock_timestamp();
    v_others bigint[];
    v_ids bigint[] := '{}';
    v_id bigint;
    -- A claim need not wait for the disk. If a crash of the server loses it, the message is simply due again. The next
    -- commit that does wait, of any session, writes it to disk too.
    v_commit constant text := set_config('synchronous_commit', 'off', true);
BEGIN
    IF p_message IS NOT NULL THEN
        v_ids := ARRAY(
            SELECT m.id FROM verification_message AS m
            WHERE m.id = p_message
              AND m.status = ANY (v_waiting)
              AND (m.due_at BETWEEN v_now - v_late AND v_now OR p_is_connected AND m.is_handed_over)
              AND m.project_id <> ALL (p_full_projects)
            FOR UPDATE SKIP LOCKED
        );
    END IF;
    IF v_ids = '{}' AND p_full_projects <> '{}' THEN
        v_others := ARRAY(
            SELECT due.id
            FROM (
                SELECT m.id, m.project_id FROM verification_message AS m
                WHERE m.status IN ('queued', 'sending') AND (m.due_at <= v_now OR p_is_connected AND m.is_handed_over)
                  AND (p_message IS NOT NULL OR m.claims > 0 OR m.due_at <= v_now - make_interval(secs => p_idle_seconds))
                ORDER BY m.created_at DESC
                LIMIT CASE WHEN p_message IS NULL THEN 10000 ELSE 100 END
            ) AS due
            WHERE due.project_id <> ALL (p_full_projects)
            LIMIT 100
        );
        IF v_others = '{}' AND p_message IS NOT NULL THEN
            v_others := ARRAY(
                SELECT m.id FROM verification_message AS m
                WHERE m.id = p_message AND m.project_id <> ALL (p_full_projects)
            );
        END IF;
        v_ids := ARRAY(
            SELECT m.id FROM verification_message AS m
            WHERE m.id = ANY (v_others)
              AND m.status = ANY (v_waiting)
              AND (m.due_at <= v_now OR p_is_connected AND m.is_handed_over)
            ORDER BY m.created_at DESC
            LIMIT p_limit
            FOR UPDATE SKIP LOCKED
        );
    END IF;
    IF v_ids = '{}' AND NOT p_others_only THEN
        IF p_message IS NOT NULL THEN
            v_ids := ARRAY(
                SELECT m.id FROM verification_message AS m
                WHERE m.status IN ('queued', 'sending') AND (m.due_at <= v_now OR p_is_connected AND m.is_handed_over)
                ORDER BY m.created_at DESC
                LIMIT 1  -- written out, so that one plan serves every call
                FOR UPDATE SKIP LOCKED
            );
        ELSE
            v_ids := ARRAY(
                SELECT m.id FROM verification_message AS m
                WHERE m.status IN ('queued', 'sending') AND m.due_at <= v_now
                  AND (m.claims > 0 OR m.due_at <= v_now - make_interval(secs => p_idle_seconds))
                ORDER BY m.created_at DESC
                LIMIT p_limit
                FOR UPDATE SKIP LOCKED
            );
        END IF;
    END IF;
    -- One message at a time, and each of its other rows by its key: for an array PostgreSQL would expect ten ids, and scan a
    -- table that had a few dozen rows when last analysed.
    FOREACH v_id IN ARRAY v_ids LOOP
        UPDATE verification_message AS m SET
            status = 'sending',
            claims = m.claims + 1,
            lost_leases = m.lost_leases + (m.claimed_at IS NOT NULL)::integer,
            claimed_at = v_now,
            is_handed_over = false,
            due_at = v_now + make_interval(secs => p_lease_seconds)
        FROM verification_message AS before
        LEFT JOIN verification_recipient AS r ON r.id = before.recipient_id
        LEFT JOIN verification_project AS p ON p.id = before.project_id
        LEFT JOIN verification_session AS s ON s.id = before.session_id
        WHERE m.id = v_id AND before.id = v_id
        RETURNING
            m.id, m.project_id, jsonb_build_object(
                'name', p.name, 'code_in_subject', p.code_in_subject,
                'web_otp_domain', p.web_otp_domain, 'android_hash', p.android_hash
            ), m.channel, r.address, m.language, m.claims, m.lost_leases, m.session_id, s.code_encrypted,
            m.code_encrypted, m.pinned_provider_id, extract(epoch FROM m.expires_at - v_now),
            p.is_enabled IS NOT TRUE OR m.expires_at <= v_now
                OR m.verified_at IS NOT NULL OR m.session_id IS NOT NULL AND session_state(s, v_now) <> 'open',
            m.recipient_id, before.is_handed_over, ARRAY(
                SELECT attempt.provider_id FROM verification_deliveryattempt AS attempt
                WHERE attempt.message_id = m.id AND attempt.outcome IN ('unknown', 'unclear')
            )
        INTO
            id, project_id, project, channel, address, language, claims, lost_leases, session_id, session_code,
            manual_code, pinned_provider_id, lives_seconds, is_over, recipient_id, is_handed_over,
            unknown_at;
        accounts := '{}';
        no_account_at := ARRAY(
            SELECT noted.provider_id FROM verification_noaccount AS noted
            WHERE noted.recipient_id = claim_messages.recipient_id AND noted.noted_at > v_now - interval '24 hours'
        );
        IF channel IN ('messenger_a', 'messenger_b') THEN
            accounts := coalesce((
                SELECT jsonb_object_agg(subscription.provider_id, subscription.account_id)
                FROM verification_subscription AS subscription
                WHERE subscription.recipient_id = claim_messages.recipient_id AND subscription.is_active
            ), '{}');
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
