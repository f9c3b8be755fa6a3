-- Write as the service does, so that a database without room is known before a request meets it: by all processes together
-- at most once in p_at_most_every seconds, as no more is done while the last trial is so young, or another one is under way.
--
-- TRUNCATE gives the table new files. So the row and its index need room on the disk each time, and not what an earlier row
-- has left. Nobody waits for the disk; a crash of the server loses nothing here. Nor for whoever reads the table, as pg_dump
-- does until its end: then nothing is tried. Raises what PostgreSQL reports.
CREATE OR REPLACE FUNCTION try_to_write(p_at_most_every integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_lock constant bigint := 7294008;  -- an advisory lock of our own
    v_commit constant text := set_config('synchronous_commit', 'off', true);
BEGIN
    IF EXISTS (
        SELECT FROM verification_upkeep
        WHERE name = 'write_trial' AND finished_at BETWEEN v_now - make_interval(secs => p_at_most_every) AND v_now
    ) OR NOT pg_try_advisory_xact_lock(v_lock) THEN
        RETURN;
    END IF;
    BEGIN
        LOCK TABLE verification_writetrial IN ACCESS EXCLUSIVE MODE NOWAIT;
    EXCEPTION WHEN lock_not_available THEN
        RETURN;
    END;
    TRUNCATE verification_writetrial;
    INSERT INTO verification_writetrial (written_at) VALUES (v_now);
    INSERT INTO verification_upkeep (name, started_at, finished_at) VALUES ('write_trial', v_now, v_now)
    ON CONFLICT (name) DO UPDATE SET started_at = v_now, finished_at = v_now;
END
$$;
