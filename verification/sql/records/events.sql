-- Events for customers' servers: noted by whatever makes them happen, claimed by workers, and listed for listeners.

-- Note an event of a session, if the project wants it. p_events are the project's choice, as the terms have them:
-- {"types": [...], "is_called": whether it has an address}. Without an address the event is kept for listeners alone.
-- The callers ask for p_terms ? 'events' first, so that nothing is called for a project that wants none.
CREATE OR REPLACE FUNCTION note_session_event(
    p_events jsonb, p_type text, p_project bigint, p_session text, p_channel text, p_reason text, p_subject text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_events -> 'types' ? p_type THEN
        PERFORM pg_current_xact_id();  -- from here on find_events knows of this transaction
        INSERT INTO verification_webhookevent (
            project_id, type, session_id, channel, reason, subject, tells_recipient, due_at
        )
        VALUES (
            p_project, p_type, p_session, p_channel, p_reason, p_subject,
            -- As the row has it now: who switches it on later sees nobody of before.
            coalesce((SELECT event_recipients FROM verification_project WHERE id = p_project), false),
            CASE WHEN (p_events -> 'is_called')::boolean THEN clock_timestamp() END
        );
    END IF;
END
$$;

-- Note that a code did not go out. Callers repeat refused requests at will. So the same refusal is told once a minute,
-- and no project is told more than p_per_minute in a minute; the decision log counts all.
CREATE OR REPLACE FUNCTION note_refused_session(
    p_events jsonb, p_project bigint, p_session text, p_reason text, p_subject text, p_per_minute integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_told integer;
    v_is_told boolean;
BEGIN
    SELECT count(*), bool_or(told.reason = p_reason AND told.subject = p_subject
                             AND told.session_id IS NOT DISTINCT FROM p_session)
    INTO v_told, v_is_told
    FROM (
        SELECT reason, subject, session_id FROM verification_webhookevent
        WHERE project_id = p_project AND type = 'session.refused'
          AND created_at > clock_timestamp() - interval '1 minute'
        ORDER BY created_at DESC LIMIT p_per_minute
    ) AS told;
    IF v_told < p_per_minute AND NOT coalesce(v_is_told, false) THEN
        PERFORM note_session_event(
            p_events, 'session.refused', p_project, p_session,
            coalesce((SELECT channel FROM verification_session WHERE id = p_session), ''), p_reason, p_subject
        );
    END IF;
END
$$;

-- Note the end of a message, which is final now: to the address that its send named, or else to its project if that wants
-- it. Where the message was a session's and did not arrive, note that too, unless the session needs it no more: it was
-- verified meanwhile, or cancelled. One whose receipt did not come may have arrived.
CREATE OR REPLACE FUNCTION note_message_end(p_message bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_message record;
    v_project record;
    v_is_called boolean;
BEGIN
    SELECT project_id, session_id, channel, status, sent_at, callback_url INTO v_message
    FROM verification_message WHERE id = p_message;
    SELECT events, event_url INTO v_project FROM verification_project WHERE id = v_message.project_id;
    v_is_called := v_project.event_url <> '';
    IF v_message.callback_url <> '' OR 'message.finished' = ANY (v_project.events) THEN
        PERFORM pg_current_xact_id();
        INSERT INTO verification_webhookevent (type, message_id, project_id, url, due_at)
        VALUES (
            'message.finished', p_message, v_message.project_id, v_message.callback_url,
            CASE WHEN v_message.callback_url <> '' OR v_is_called THEN clock_timestamp() END
        );
    END IF;
    IF v_message.session_id IS NOT NULL AND 'session.undelivered' = ANY (v_project.events)
        AND (v_message.status = 'failed' OR v_message.status = 'expired' AND v_message.sent_at IS NULL)
        AND EXISTS (
            SELECT FROM verification_session
            WHERE id = v_message.session_id AND verified_at IS NULL AND cancelled_at IS NULL
        )
    THEN
        PERFORM note_session_event(
            jsonb_build_object('types', to_jsonb(v_project.events), 'is_called', v_is_called),
            'session.undelivered', v_message.project_id, v_message.session_id, v_message.channel, v_message.status, ''
        );
    END IF;
END
$$;

-- Return events with all that their bodies tell. An event without an address of its own goes to its project's. That of
-- a message tells its session, if it is a session's.
CREATE OR REPLACE FUNCTION events_to_tell(p_ids bigint[]) RETURNS TABLE (
    id bigint, project_id bigint, type text, created_at timestamptz, url text, tries integer,
    message_id bigint, status text, error text, finished_at timestamptz,
    session_id text, channel text, reason text, subject text, address text, language text, is_test boolean,
    opened_at timestamptz, expires_at timestamptz, shows_recipient boolean, reference text
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Put in order only once they are found: an index by time has the order too, but all other events as well.
    RETURN QUERY
    WITH told AS MATERIALIZED (
        SELECT event.id, event.project_id, event.type::text, event.created_at,
               CASE WHEN event.url <> '' THEN event.url ELSE project.event_url END::text, event.tries::integer,
               event.message_id, message.status::text, message.error::text, message.finished_at,
               session.id::text AS session_id, coalesce(message.channel, event.channel)::text, event.reason::text,
               event.subject::text, recipient.address::text, session.language::text, session.is_test,
               session.created_at AS opened_at, session.expires_at, event.tells_recipient, session.reference::text
        FROM verification_webhookevent AS event
        JOIN verification_project AS project ON project.id = event.project_id
        LEFT JOIN verification_message AS message ON message.id = event.message_id
        LEFT JOIN verification_session AS session ON session.id = coalesce(event.session_id, message.session_id)
        LEFT JOIN verification_recipient AS recipient ON recipient.id = session.recipient_id
        WHERE event.id = ANY (p_ids)
    )
    SELECT * FROM told ORDER BY told.created_at, told.id;
END
$$;

-- Claim up to p_limit events that are due. Of one project no more than p_per_project are under way in the worker, so
-- a customer whose server is slow holds up nobody else's. p_busy names the project of each event that is under way
-- there now. `due_at` moves to the end of a lease.
CREATE OR REPLACE FUNCTION claim_events_to_tell(
    p_limit integer, p_per_project integer, p_busy bigint[], p_lease_seconds integer
) RETURNS TABLE (
    id bigint, project_id bigint, type text, created_at timestamptz, url text, tries integer,
    message_id bigint, status text, error text, finished_at timestamptz,
    session_id text, channel text, reason text, subject text, address text, language text, is_test boolean,
    opened_at timestamptz, expires_at timestamptz, shows_recipient boolean, reference text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_ids bigint[];
BEGIN
    v_ids := ARRAY(
        SELECT due.id
        FROM verification_project AS project
        CROSS JOIN LATERAL (
            SELECT event.id, event.due_at FROM verification_webhookevent AS event
            WHERE event.project_id = project.id AND event.due_at <= v_now
            ORDER BY event.due_at
            LIMIT greatest(p_per_project - cardinality(array_positions(p_busy, project.id)), 0)
            FOR UPDATE SKIP LOCKED
        ) AS due
        ORDER BY due.due_at LIMIT p_limit
    );
    UPDATE verification_webhookevent AS event
    SET tries = event.tries + 1, due_at = v_now + make_interval(secs => p_lease_seconds)
    WHERE event.id = ANY (v_ids);
    RETURN QUERY SELECT * FROM events_to_tell(v_ids);
END
$$;

-- The time before which all events are written: no transaction that began earlier can still add one. Events get the
-- time of their insert, under a transaction's id. The caller reads the events in a later statement.
CREATE OR REPLACE FUNCTION events_complete_until() RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();  -- before the look at the others
BEGIN
    RETURN least(v_now, (
        SELECT min(xact_start) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()
    ));
END
$$;

-- Find the project's next events after a place in their order: those of p_types, or all where that is null. None is
-- passed over that is committed later. Those of other types may be many, so no more than p_look are looked at.
-- has_more: go on from last_at and last_id, as there is something behind them that was not looked at.
CREATE OR REPLACE FUNCTION find_events(
    p_project bigint, p_after timestamptz, p_after_id bigint, p_types text[], p_limit integer, p_look integer,
    OUT ids bigint[], OUT last_at timestamptz, OUT last_id bigint, OUT has_more boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_complete_until timestamptz := events_complete_until();
    v_times timestamptz[];
    v_looked integer;
BEGIN
    WITH looked AS MATERIALIZED (
        SELECT event.id, event.created_at, p_types IS NULL OR event.type = ANY (p_types) AS is_wanted
        FROM verification_webhookevent AS event
        WHERE event.project_id = p_project AND event.created_at < v_complete_until
          AND (event.created_at, event.id) > (p_after, p_after_id)
        ORDER BY event.created_at, event.id
        LIMIT p_look
    )
    SELECT coalesce(array_agg(looked.id ORDER BY looked.created_at, looked.id) FILTER (WHERE is_wanted), '{}'),
           array_agg(looked.created_at ORDER BY looked.created_at, looked.id) FILTER (WHERE is_wanted),
           (array_agg(looked.id ORDER BY looked.created_at DESC, looked.id DESC))[1],
           max(looked.created_at), count(*)
    INTO ids, v_times, last_id, last_at, v_looked
    FROM looked;
    has_more := v_looked = p_look;
    IF cardinality(ids) > p_limit THEN
        ids := ids[:p_limit];
        last_at := v_times[p_limit];
        last_id := ids[p_limit];
        has_more := true;
    END IF;
END
$$;
