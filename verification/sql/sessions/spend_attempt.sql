-- Spend one attempt of a session and compare: one round trip, committed before the answer, whatever the answer is.
--
-- The recipient's lock makes parallel checks take turns. So at most `attempts_max` comparisons are ever made, and of any
-- number of right codes only one gets the token. p_code_digest is null for a code that cannot be right. It holds a digest
-- of 32 bytes for SECRET_KEY and each of its fallbacks, one after the other: a process of before may have made the code.
-- p_terms are as in open_session; p_network and p_guess are kept with a wrong code, for the guard. p_subnet is as in
-- judge_stranger, by which a caller who seems to guess is refused and spends nothing. p_request and p_caller_request are
-- kept with the wrong code or the token.
--
-- Outcome: 'verified', 'invalid_code', 'session_not_found', 'session_verified', 'session_expired',
-- 'session_locked', 'too_many_attempts', 'stranger_refused' (with what was counted as `figures`). `address` is the
-- recipient's, for the owner's log of refusals.
CREATE OR REPLACE FUNCTION spend_attempt(
    p_project bigint, p_session text, p_code_digest bytea, p_token_digest bytea, p_token_seconds integer,
    p_terms jsonb, p_network text, p_subnet text, p_guess bytea, p_request uuid, p_caller_request text,
    OUT outcome text, OUT attempts_left integer, OUT retry_after integer, OUT is_test boolean, OUT figures jsonb,
    OUT address text
) LANGUAGE plpgsql AS $$
DECLARE
    v_recipient record;
    v_session verification_session;
    v_now timestamptz;
    v_is_strange boolean := false;  -- the subnet has wrong codes of the last day that no right one has settled
BEGIN
    v_recipient := lock_recipient_of(p_project, p_session);
    v_now := clock_timestamp();
    address := v_recipient.address;
    SELECT * INTO v_session FROM verification_session AS s WHERE s.id = p_session AND s.project_id = p_project;

    outcome := session_state(v_session, v_now);
    IF outcome <> 'open' THEN
        RETURN;
    END IF;
    retry_after := wrong_codes_wait(
        v_recipient.id, v_recipient.verified_at, p_terms -> 'wrong_codes', v_session.code_length,
        v_session.is_challenged, v_now
    );
    IF retry_after > 0 THEN
        outcome := 'too_many_attempts';
        RETURN;
    END IF;
    IF p_subnet <> '' THEN
        PERFORM FROM verification_wrongcode  -- in the order of its index, for the reason told in strangers.sql
        WHERE project_id = p_project AND subnet <> '' AND NOT is_settled
          AND (subnet, created_at) > (p_subnet, v_now - interval '1 day') AND subnet <= p_subnet
        ORDER BY subnet, created_at
        LIMIT 1;
        v_is_strange := FOUND;
    END IF;
    IF v_is_strange THEN
        SELECT judged.retry_after, judged.figures INTO retry_after, figures
        FROM judge_stranger(p_project, p_subnet, p_terms -> 'strangers', v_now) AS judged;
        IF retry_after > 0 THEN
            outcome := 'stranger_refused';
            RETURN;
        END IF;
    END IF;
    retry_after := NULL;

    -- A session whose code never went anywhere cannot be verified: there, every code is wrong.
    IF v_session.channel <> '' AND EXISTS (
        SELECT FROM generate_series(1, length(p_code_digest), 32) AS start
        WHERE substring(p_code_digest FROM start FOR 32) = v_session.code_digest
    ) THEN
        UPDATE verification_session
        SET attempts = attempts + 1, verified_at = v_now, is_open = false, code_encrypted = NULL, code_digest = NULL
        WHERE id = p_session;
        INSERT INTO verification_verifytoken (
            digest, project_id, session_id, recipient_id, test_login, subnet, created_at, expires_at,
            request, caller_request
        ) VALUES (
            p_token_digest, p_project, p_session, v_recipient.id, v_session.test_login, p_subnet, v_now,
            v_now + make_interval(secs => p_token_seconds), p_request, p_caller_request
        );
        IF v_is_strange THEN
            -- What is added to the columns leaves PostgreSQL no index but the recipient's own.
            UPDATE verification_wrongcode SET is_settled = true
            WHERE recipient_id = v_recipient.id AND subnet || '' = p_subnet AND NOT is_settled
              AND created_at + interval '0' > v_now - interval '1 day';
        END IF;
        UPDATE verification_recipient
        SET verified_channel = v_session.channel, verified_at = v_now, language = v_session.language
        WHERE id = v_recipient.id;
        IF EXISTS (SELECT FROM verification_noaccount WHERE recipient_id = v_recipient.id) THEN
            PERFORM code_has_arrived(
                v_recipient.id, ARRAY(SELECT id FROM verification_message WHERE session_id = p_session)
            );
        END IF;
        IF p_terms ? 'events' THEN
            PERFORM note_session_event(
                p_terms -> 'events', 'session.verified', p_project, p_session, v_session.channel, '', ''
            );
        END IF;
        outcome := 'verified';
        is_test := v_session.is_test;
    ELSE
        UPDATE verification_session SET attempts = attempts + 1 WHERE id = p_session;
        INSERT INTO verification_wrongcode (
            session_id, recipient_id, project_id, network, subnet, guess, is_settled, created_at, request, caller_request
        ) VALUES (
            p_session, v_recipient.id, p_project, p_network, p_subnet, p_guess, false, v_now, p_request, p_caller_request
        );
        outcome := 'invalid_code';
        attempts_left := v_session.attempts_max - v_session.attempts - 1;
        IF attempts_left = 0 AND p_terms ? 'events' THEN
            PERFORM note_session_event(
                p_terms -> 'events', 'session.locked', p_project, p_session, v_session.channel, '', ''
            );
        END IF;
    END IF;
END
$$;
