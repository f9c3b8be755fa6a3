-- Exchange a verify token for the address it proves. One conditional update decides: of parallel calls one succeeds,
-- and a token of another project is neither found nor burnt. That of a test login is over when its login is.
--
-- p_key is the digest of the caller's Idempotency-Key, or null. Who repeats the call with it while the token would still be
-- good reads the answer again (is_replayed), in case the first was lost. For everybody else the token is used up.
-- p_request and p_caller_request are kept with the token.
-- Outcome: 'redeemed', 'verify_token_not_found', 'verify_token_expired' (a used one counts as expired).
CREATE OR REPLACE FUNCTION redeem_verify_token(
    p_project bigint, p_digest bytea, p_key bytea, p_request uuid, p_caller_request text,
    OUT outcome text, OUT address text, OUT is_test boolean, OUT session_id text, OUT channel text, OUT is_replayed boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_token verification_verifytoken;
    v_now timestamptz := clock_timestamp();
BEGIN
    UPDATE verification_verifytoken AS token
    SET used_at = v_now, used_key = p_key, used_request = p_request, used_caller_request = p_caller_request
    WHERE digest = p_digest
      AND project_id = p_project
      AND used_at IS NULL
      AND expires_at > v_now
      AND (test_login IS NULL OR is_test_login_live(p_project, test_login))
    RETURNING token.* INTO v_token;
    is_replayed := NOT FOUND;
    IF is_replayed THEN
        -- A statement of its own, which sees what the call that was waited for has committed.
        SELECT * INTO v_token FROM verification_verifytoken WHERE digest = p_digest AND project_id = p_project;
        IF NOT FOUND THEN
            outcome := 'verify_token_not_found';
            RETURN;
        END IF;
        IF (v_token.used_key = p_key) IS NOT TRUE
            OR v_token.expires_at <= v_now
            OR v_token.test_login IS NOT NULL AND NOT is_test_login_live(p_project, v_token.test_login)
        THEN
            outcome := 'verify_token_expired';
            RETURN;
        END IF;
    END IF;
    outcome := 'redeemed';
    is_test := v_token.test_login IS NOT NULL;
    SELECT recipient.address, session.id, session.channel INTO address, session_id, channel
    FROM verification_recipient AS recipient, verification_session AS session
    WHERE recipient.id = v_token.recipient_id AND session.id = v_token.session_id;

    IF NOT is_test AND NOT is_replayed THEN
        PERFORM note_known(p_project, v_token.recipient_id, v_now);
    END IF;

    -- The number is proved: its sends, as far as the traffic guard can look back, were nobody's pumping. Those that
    -- somebody holds are being marked or removed; they are not waited for.
    IF NOT is_replayed AND EXISTS (
        SELECT FROM verification_guardedsend WHERE recipient_id = v_token.recipient_id AND verified_at IS NULL
    ) THEN
        UPDATE verification_guardedsend SET verified_at = clock_timestamp()
        WHERE message_id IN (
            SELECT message_id FROM verification_guardedsend
            WHERE recipient_id = v_token.recipient_id
              AND created_at > clock_timestamp() - interval '1 day'
              AND verified_at IS NULL
            FOR NO KEY UPDATE SKIP LOCKED
        );
    END IF;
END
$$;
