-- Wipe the codes of up to p_limit sessions that have expired, the oldest first: the sealed code and its digest. Rows that
-- somebody holds are left for the next time. Returns the number of sessions.
CREATE OR REPLACE FUNCTION wipe_codes(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_ids text[] := ARRAY(
        SELECT id FROM verification_session
        WHERE code_digest IS NOT NULL AND expires_at <= clock_timestamp()
        ORDER BY expires_at
        LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED
    );
BEGIN
    UPDATE verification_session SET code_encrypted = NULL, code_digest = NULL WHERE id = ANY (v_ids);
    RETURN cardinality(v_ids);
END
$$;
