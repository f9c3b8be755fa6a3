-- Exchange a verify token for the address it proves. One conditional update decides: of parallel calls one succeeds,
-- and a token of another project is neither found nor burnt. That of a test login is over when its login is.
--
-- Outcome: 'redeemed', 'verify_token_not_found', 'verify_token_expired' (a used one counts as expired).
CREATE OR REPLACE FUNCTION redeem_token(
    p_project bigint, p_digest bytea, OUT outcome text, OUT address text, OUT is_test boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_recipient bigint;
BEGIN
    UPDATE verification_verifytoken AS token SET used_at = clock_timestamp()
    FROM verification_session AS s
    JOIN verification_recipient AS recipient ON recipient.id = s.recipient_id
    WHERE token.digest = p_digest
      AND token.project_id = p_project
      AND token.used_at IS NULL
      AND token.expires_at > clock_timestamp()
      AND s.id = token.session_id
      AND (NOT s.is_test OR is_test_login_live(p_project, s.test_login))
    RETURNING 'redeemed', recipient.address, s.is_test, recipient.id INTO outcome, address, is_test, v_recipient;
    IF FOUND THEN
        -- The number is proved: its sends, as far as the traffic guard can look back, were nobody's pumping. Those that
        -- somebody holds are being marked or removed; they are not waited for.
        UPDATE verification_guardedsend SET verified_at = clock_timestamp()
        WHERE message_id IN (
            SELECT send.message_id
            FROM verification_guardedsend AS send
            JOIN verification_message AS m ON m.id = send.message_id
            WHERE m.recipient_id = v_recipient
              AND m.created_at > clock_timestamp() - interval '1 day'
              AND send.verified_at IS NULL
            FOR NO KEY UPDATE OF send SKIP LOCKED
        );
    ELSE
        outcome := CASE WHEN EXISTS (
            SELECT FROM verification_verifytoken WHERE digest = p_digest AND project_id = p_project
        ) THEN 'verify_token_expired' ELSE 'verify_token_not_found' END;
    END IF;
END
$$;
