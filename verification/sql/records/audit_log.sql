-- The audit log: written by a trigger on every watched table, and only ever added to.

-- Read one column of a row. A path such as column>table.column reads a column of the row that the first one refers to.
CREATE OR REPLACE FUNCTION audit_look(p_row jsonb, p_path text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_column text := split_part(p_path, '>', 1);
    v_there text := split_part(p_path, '>', 2);
    v_found text;
BEGIN
    IF v_there = '' THEN
        RETURN p_row ->> v_column;
    END IF;
    EXECUTE format('SELECT %I::text FROM %I WHERE id = $1', split_part(v_there, '.', 2), split_part(v_there, '.', 1))
        INTO v_found USING (p_row ->> v_column)::bigint;
    RETURN v_found;
END
$$;

-- Arguments: kind of object, path to its label, path to its project, secret columns, quiet columns.
-- The actor is the one set for the transaction, or else the process, by the name that it gave its connection.
CREATE OR REPLACE FUNCTION audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_old jsonb := to_jsonb(OLD);
    v_new jsonb := to_jsonb(NEW);
    v_row jsonb := coalesce(to_jsonb(NEW), to_jsonb(OLD));
    v_secret text[] := TG_ARGV[3];
    v_quiet text[] := TG_ARGV[4];
    v_changes jsonb;
BEGIN
    SELECT coalesce(jsonb_object_agg(key, jsonb_build_array(
               CASE WHEN key = ANY (v_secret) AND jsonb_typeof(before) <> 'null' THEN '"(hidden)"' ELSE before END,
               CASE WHEN key = ANY (v_secret) AND jsonb_typeof(after) <> 'null' THEN '"(hidden)"' ELSE after END)), '{}')
      INTO v_changes
      FROM (SELECT key, v_old -> key AS before, v_new -> key AS after FROM jsonb_object_keys(v_row) AS key) AS columns
     WHERE NOT key = ANY (v_quiet)
       AND before IS DISTINCT FROM after
       AND (TG_OP = 'UPDATE' OR coalesce(before, after) NOT IN ('null', '""', '[]', '{}'));
    IF TG_OP = 'UPDATE' AND v_changes = '{}' THEN
        RETURN NULL;
    END IF;
    INSERT INTO verification_auditentry
        (who, address, action, project_id, object_type, object_id, object_label, changes)
    VALUES (
        left(coalesce(nullif(current_setting('watchword.who', true), ''),
                      nullif(current_setting('application_name'), ''), session_user), 150),
        nullif(current_setting('watchword.address', true), '')::inet,
        CASE TG_OP WHEN 'INSERT' THEN 'Created' WHEN 'UPDATE' THEN 'Changed' ELSE 'Deleted' END,
        audit_look(v_row, TG_ARGV[2])::bigint,
        TG_ARGV[0], v_row ->> 'id', left(coalesce(audit_look(v_row, TG_ARGV[1]), ''), 255), v_changes);
    RETURN NULL;
END
$$;

-- Lines are never changed, and deleted only by purge_audit, once they are 90 days old. The whole table can be emptied
-- in databases that are thrown away. There ALTER DATABASE sets watchword.truncate_audit to on, which from PostgreSQL 15
-- on takes a superuser. Setting it in a session is not enough.
CREATE OR REPLACE FUNCTION audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('watchword.purge_audit', true) = 'on'
       AND OLD.at < now() - interval '90 days' THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'TRUNCATE' AND current_setting('watchword.truncate_audit', true) = 'on' AND EXISTS (
        SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database() AND 'watchword.truncate_audit=on' = ANY (s.setconfig)
    ) THEN
        RETURN NULL;
    END IF;
    RAISE insufficient_privilege USING MESSAGE = 'The audit log can only be added to.';
END
$$;

CREATE OR REPLACE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON verification_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_keep();
CREATE OR REPLACE TRIGGER audit_keep_all BEFORE TRUNCATE ON verification_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_keep();

CREATE OR REPLACE FUNCTION purge_audit(p_before timestamptz, OUT deleted bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('watchword.purge_audit', 'on', true);
    DELETE FROM verification_auditentry WHERE at < p_before;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    PERFORM set_config('watchword.purge_audit', '', true);
END
$$;
