-- Count one decision of a rule in the hour's row of its subject. Past so many subjects in an hour, all further ones
-- share a row, as whoever is refused chooses the subjects. p_figures are those of the last time.
CREATE OR REPLACE FUNCTION note_decision(p_project bigint, p_rule text, p_subject text, p_figures jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_subjects_an_hour constant integer := 200;
    v_now timestamptz := clock_timestamp();
    v_hour timestamptz := date_trunc('hour', v_now);
BEGIN
    INSERT INTO verification_decision AS noted (project_id, rule, subject, hour, count, figures, first_at, last_at)
    SELECT p_project, p_rule,
           CASE WHEN EXISTS (
               SELECT FROM verification_decision AS own
               WHERE own.project_id = p_project AND own.rule = p_rule AND own.hour = v_hour AND own.subject = p_subject
           ) OR v_subjects_an_hour > (
               SELECT count(*) FROM verification_decision AS other
               WHERE other.project_id = p_project AND other.rule = p_rule AND other.hour = v_hour
           ) THEN p_subject ELSE 'others' END,
           v_hour, 1, p_figures, v_now, v_now
    ON CONFLICT (project_id, rule, hour, subject) DO UPDATE SET
        count = noted.count + 1, figures = excluded.figures, last_at = excluded.last_at;
END
$$;

-- Note an event for a project's owner, once for its kind and key. It is due to be told at once, unless so many were
-- within the hour that more would only hide them; then it stands on the page alone. Returns whether it is new.
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
