-- Exchange a verify token for the address it proves. One conditional update decides: of parallel calls one succeeds,
-- and a token of another project is neither found nor burnt. That of a test login is over when its login is.
--
-- p_request and p_caller_request are kept with the token.
-- Outcome: 'redeemed', 'verify_token_not_found', 'verify_token_expired' (a used one counts as expired).
CREATE OR REPLACE FUNCTION redeem_token(
    p_project bigint, p_digest bytea, p_request uuid, p_caller_request text,
    OUT outcome text, OUT address text, OUT is_test boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_recipient bigint;
    v_is_guarded boolean;
BEGIN
    UPDATE verification_verifytoken AS token
    SET used_at = clock_timestamp(), used_request = p_request, used_caller_request = p_caller_request
    WHERE digest = p_digest
      AND project_id = p_project
      AND used_at IS NULL
      AND expires_at > clock_timestamp()
      AND (test_login IS NULL OR is_test_login_live(p_project, test_login))
    RETURNING
        recipient_id, test_login IS NOT NULL,
        (SELECT recipient.address FROM verification_recipient AS recipient WHERE recipient.id = token.recipient_id),
        EXISTS (
            SELECT FROM verification_guardedsend AS send
            WHERE send.recipient_id = token.recipient_id AND send.verified_at IS NULL
        )
    INTO v_recipient, is_test, address, v_is_guarded;
    IF NOT FOUND THEN
        outcome := CASE WHEN EXISTS (
            SELECT FROM verification_verifytoken WHERE digest = p_digest AND project_id = p_project
        ) THEN 'verify_token_expired' ELSE 'verify_token_not_found' END;
        RETURN;
    END IF;
    outcome := 'redeemed';
    IF NOT is_test THEN
        PERFORM note_known(p_project, v_recipient, clock_timestamp());
    END IF;

    -- The number is proved: its sends, as far as the traffic guard can look back, were nobody's pumping. Those that
    -- somebody holds are being marked or removed; they are not waited for.
    IF v_is_guarded THEN
        UPDATE verification_guardedsend SET verified_at = clock_timestamp()
        WHERE message_id IN (
            SELECT message_id FROM verification_guardedsend
            WHERE recipient_id = v_recipient
              AND created_at > clock_timestamp() - interval '1 day'
              AND verified_at IS NULL
            FOR NO KEY UPDATE SKIP LOCKED
        );
    END IF;
END
$$;
