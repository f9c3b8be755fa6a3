-- Count one hour of all texts that are tried: the sessions created since the trial began that a message of its channel and
-- language was sent to, by the text they got. A session counts once it is over, so that both texts have had their time.
-- Hours whose rows were purged keep what was counted.
CREATE OR REPLACE FUNCTION count_text_variants(p_hour timestamptz) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_lock constant bigint := 7294006;  -- an advisory lock of our own
    v_end constant timestamptz := p_hour + interval '1 hour';
BEGIN
    IF NOT EXISTS (SELECT FROM verification_textvariant WHERE since < v_end) THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(v_lock);
    INSERT INTO verification_textvariantfigures AS figures (variant_id, hour, is_variant, sessions, verified)
    SELECT variant.id, p_hour, text_draw(variant.id, session.id) < variant.share, count(*), count(session.verified_at)
    FROM verification_textvariant AS variant
    JOIN verification_session AS session
      ON session.project_id = variant.project_id AND session.created_at >= greatest(variant.since, p_hour)
     AND session.created_at < v_end AND session.expires_at <= now() AND NOT session.is_test
    WHERE variant.since < v_end AND variant.project_id IN (SELECT countable_projects(p_hour)) AND EXISTS (
        SELECT FROM verification_message AS message
        WHERE message.session_id = session.id AND message.channel = variant.channel
          AND message.language = variant.language AND message.sent_at IS NOT NULL
    )
    GROUP BY 1, 2, 3
    ON CONFLICT (variant_id, hour, is_variant) DO UPDATE SET sessions = excluded.sessions, verified = excluded.verified
    WHERE (figures.sessions, figures.verified) IS DISTINCT FROM (excluded.sessions, excluded.verified);
END
$$;

-- Return the number from 0 to 99 that decides which text a session gets: those below the share get the second one. A
-- session keeps its number, and in another trial it has another. `contrib/text_trials/draw.py` draws the same.
CREATE OR REPLACE FUNCTION text_draw(p_variant bigint, p_session text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT (('x' || encode(substring(sha256(convert_to(p_variant || ':' || p_session, 'UTF8')) FOR 4), 'hex'))
            ::bit(32)::bigint % 100)::integer
$$;
