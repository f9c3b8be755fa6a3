-- Exchange a verify token for the address it proves. One conditional update decides: of parallel calls one succeeds,
-- and a token of another project is neither found nor burnt.
--
-- Outcome: 'redeemed', 'verify_token_not_found', 'verify_token_expired' (a used one counts as expired).
CREATE OR REPLACE FUNCTION redeem_token(
    p_project bigint, p_digest bytea, OUT outcome text, OUT address text, OUT is_test boolean
) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE verification_verifytoken AS token SET used_at = clock_timestamp()
    FROM verification_session AS s
    JOIN verification_recipient AS recipient ON recipient.id = s.recipient_id
    WHERE token.digest = p_digest
      AND token.project_id = p_project
      AND token.used_at IS NULL
      AND token.expires_at > clock_timestamp()
      AND s.id = token.session_id
    RETURNING 'redeemed', recipient.address, s.is_test INTO outcome, address, is_test;
    IF NOT FOUND THEN
        outcome := CASE WHEN EXISTS (
            SELECT FROM verification_verifytoken WHERE digest = p_digest AND project_id = p_project
        ) THEN 'verify_token_expired' ELSE 'verify_token_not_found' END;
    END IF;
END
$$;
