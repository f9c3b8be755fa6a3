-- Give a message back for a worker that holds a connection which this one lacks. That worker may claim it at once, by its
-- id (claim_messages); every worker may after p_seconds. Changes nothing if the lease was lost to another (p_claims).
CREATE OR REPLACE FUNCTION hand_over(p_message bigint, p_claims integer, p_seconds double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE verification_message SET
        claimed_at = NULL, is_handed_over = true, due_at = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE id = p_message AND claimed_at IS NOT NULL AND claims = p_claims;
    RETURN FOUND;
END
$$;
