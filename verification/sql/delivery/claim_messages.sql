-- Take due messages for one worker: the one that it was woken for, or (p_message null) up to p_limit, the freshest
-- first, of those whose wake-up was lost, which have been due for p_idle_seconds, and of those that nobody is woken for:
-- claimed before, and due for their next try.
--
-- A wake-up that comes late says that there is more to send than there are threads. Then the freshest message takes its
-- turn, whichever it is: behind a backlog a code of this moment is still of use, and an old one may no longer be.
--
-- A message that was handed over (hand_over.sql) is not due yet. Who holds connections (p_is_connected) takes it by its
-- id, or as the freshest, all the same; `is_handed_over` tells them, and whoever takes it when it is due, not to hand it over once more.
--
-- Projects that hold their share of the worker's threads (p_full_projects) come after all others, and with p_others_only
-- not at all. To find the others, the freshest 100 of what is due are looked at, and by the sweep the freshest 10,000.
-- Behind a longer backlog a message is still taken by its wake-up, however late; a retry there waits until the backlog
-- is shorter, which it is at the latest when its messages expire.
--
-- A claim is a lease: `due_at` moves to its end, and a worker that dies with it loses the message to the next one.
-- Rows that another worker is just taking are skipped. What comes back is all that sending needs, `is_over` true
-- where the code is no longer valid and must not be sent; `unknown_at` the providers whose outcome for this message is
-- not known, which are never asked again (but for a lease that died with its worker, which is tried once more, also at
-- the same provider); and, for messengers, `accounts` the recipient's accounts by bot, and `no_account_at` the providers
-- that said within the last day that there is none.
CREATE OR REPLACE FUNCTION claim_messages(
    p_message bigint, p_limit integer, p_lease_seconds integer, p_idle_seconds double precision, p_is_connected boolean,
    p_full_projects bigint[], p_others_only boolean
)
RETURNS TABLE (
    id bigint, project_id bigint, project jsonb, channel text, address text, language text, claims integer,
    lost_leases integer, session_id text, session_code bytea, manual_code bytea, pinned_provider_id bigint,
    is_pinned boolean, lives_seconds double precision, is_over boolean, unknown_at bigint[],
    recipient_id bigint, accounts jsonb, no_account_at bigint[], is_handed_over boolean
)
-- Planning the statements below for their few ids takes longer than running them, and PostgreSQL would at every call.
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_late constant interval := '0.25 seconds';
    -- Where the ids are known. Written out, it would let PostgreSQL take an index of all that waits for one as good.
    v_waiting constant text[] := '{queued,sending}';
    v_now timestamptz := clock_timestamp();
    v_look constant integer := CASE WHEN p_message IS NULL THEN 10000 ELSE 100 END;
    v_others bigint[];
    v_ids bigint[] := '{}';
    v_id bigint;
BEGIN
    -- A claim need not wait for the disk: one that a crash of the server forgets is as one whose worker died with it. The
    -- next commit that does wait, of whomever, takes it along.
    PERFORM set_config('synchronous_commit', 'off', true);
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
                LIMIT v_look
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
    -- One by one, and what belongs to a message likewise (LIMIT 1 keeps PostgreSQL from turning that round). It would take
    -- the array for ten ids, and read the whole of a table that had a few dozen rows when it was last analysed.
    FOREACH v_id IN ARRAY v_ids LOOP
        RETURN QUERY
        UPDATE verification_message AS m SET
            status = 'sending',
            claims = m.claims + 1,
            lost_leases = m.lost_leases + (m.claimed_at IS NOT NULL)::integer,
            claimed_at = v_now,
            is_handed_over = false,
            due_at = v_now + make_interval(secs => p_lease_seconds)
        FROM verification_message AS taken
        CROSS JOIN LATERAL (
            SELECT r.address FROM verification_recipient AS r WHERE r.id = taken.recipient_id LIMIT 1
        ) AS recipient
        CROSS JOIN LATERAL (
            SELECT p.is_enabled, jsonb_build_object(
                'name', p.name, 'code_in_subject', p.code_in_subject,
                'web_otp_domain', p.web_otp_domain, 'android_hash', p.android_hash
            ) AS style
            FROM verification_project AS p WHERE p.id = taken.project_id LIMIT 1
        ) AS project
        LEFT JOIN LATERAL (
            SELECT s.code_encrypted, session_state(s, v_now) <> 'open' AS is_closed
            FROM verification_session AS s WHERE s.id = taken.session_id LIMIT 1
        ) AS session ON true
        WHERE m.id = v_id AND taken.id = v_id
        RETURNING
            m.id, m.project_id, project.style, m.channel::text, recipient.address::text, m.language::text,
            m.claims::integer, m.lost_leases::integer, m.session_id::text, session.code_encrypted, m.code_encrypted,
            m.pinned_provider_id, m.pinned_provider_id IS NOT NULL,
            extract(epoch FROM m.expires_at - v_now)::double precision,
            m.expires_at <= v_now OR NOT project.is_enabled OR coalesce(session.is_closed, false),
            ARRAY(
                SELECT attempt.provider_id FROM verification_deliveryattempt AS attempt
                WHERE attempt.message_id = m.id AND attempt.outcome = 'unknown'
            ),
            m.recipient_id,
            (
                SELECT coalesce(jsonb_object_agg(subscription.provider_id, subscription.account_id), '{}')
                FROM verification_subscription AS subscription
                WHERE m.channel LIKE 'messenger%' AND subscription.recipient_id = m.recipient_id AND subscription.is_active
            ),
            ARRAY(
                SELECT noted.provider_id FROM verification_noaccount AS noted
                WHERE m.channel LIKE 'messenger%'
                  AND noted.recipient_id = m.recipient_id
                  AND noted.noted_at > v_now - interval '24 hours'
            ),
            taken.is_handed_over;
    END LOOP;
END
$$;
