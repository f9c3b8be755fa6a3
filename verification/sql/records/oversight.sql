-- Count decisions of a rule in the hour's row of its subject. p_refused is the number of refused requests; with 0 one
-- decision counts that refused nothing. Past v_subjects_an_hour, all further subjects of a country share a row, because
-- the callers who are refused choose the subjects. The country is empty where none is concerned. Empty p_figures leave
-- the last ones.
--
-- A flood of refusals is a flood of updates of one row. Its time is moved by whole seconds only, so that within one of
-- them no index is touched.
CREATE OR REPLACE FUNCTION note_decision(
    p_project bigint, p_rule text, p_subject text, p_country text, p_refused integer, p_figures jsonb
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_subjects_an_hour constant integer := 200;
    v_coarse constant interval := '1 second';
    v_now timestamptz := clock_timestamp();
    v_hour timestamptz := date_trunc('hour', v_now);
BEGIN
    INSERT INTO verification_decision AS noted (
        project_id, rule, subject, country, hour, count, refused, figures, first_at, last_at
    )
    SELECT p_project, p_rule,
           CASE WHEN EXISTS (
               SELECT FROM verification_decision AS own
               WHERE own.project_id = p_project AND own.rule = p_rule AND own.hour = v_hour AND own.subject = p_subject
                 AND own.country = p_country
           ) OR v_subjects_an_hour > (
               SELECT count(*) FROM verification_decision AS other
               WHERE other.project_id = p_project AND other.rule = p_rule AND other.hour = v_hour
           ) THEN p_subject ELSE 'others' END,
           p_country, v_hour, greatest(p_refused, 1), p_refused, p_figures, v_now, v_now
    ON CONFLICT (project_id, rule, hour, subject, country) DO UPDATE SET
        count = noted.count + greatest(p_refused, 1),
        refused = noted.refused + excluded.refused,
        figures = CASE WHEN excluded.figures = '{}' THEN noted.figures ELSE excluded.figures END,
        last_at = CASE WHEN excluded.last_at < noted.last_at + v_coarse THEN noted.last_at ELSE excluded.last_at END;
END
$$;

-- Note an event for a project's owner, once for its kind and key. The owner is told at once, unless v_told_an_hour
-- alerts came within the hour: more would only hide them, so further ones stand on the page alone. Returns whether it
-- is new.
CREATE OR REPLACE FUNCTION raise_alert(p_project bigint, p_kind text, p_key text, p_title text, p_detail text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_told_an_hour constant integer := 20;
BEGIN
    INSERT INTO verification_alert (project_id, kind, key, title, detail, tries, error, due_at)
    SELECT p_project, p_kind, p_key, left(p_title, 200), p_detail, 0, '',
           CASE WHEN v_told_an_hour > (
               SELECT count(*) FROM verification_alert AS other
               WHERE other.project_id = p_project AND other.created_at > now() - interval '1 hour'
           ) THEN now() END
    ON CONFLICT (project_id, kind, key) DO NOTHING;
    RETURN FOUND;
END
$$;
