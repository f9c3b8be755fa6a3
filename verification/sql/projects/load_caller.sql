-- A project as the services need it: its row, its order of fall-back, its live test logins, and the live entries of its
-- lists and of the platform's. Its live channels come in order, with their enabled providers, the project's own before
-- the system's, which never serve a test project. The operator's kill switches and ceilings are included, and whether
-- the day's or the month's cost has used up a channel's budget in money.
CREATE OR REPLACE FUNCTION describe_project(p_project verification_project)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT to_jsonb(p_project) || jsonb_build_object(
        'channels', (
            SELECT coalesce(jsonb_agg(to_jsonb(channel) || jsonb_build_object('is_over_cost', channel.daily_cost_budget > 0 AND EXISTS (
                SELECT FROM verification_dailychannelcost AS cost
                WHERE cost.project_id = p_project.id AND cost.channel = channel.type
                  AND cost.day = (now() AT TIME ZONE 'UTC')::date AND cost.amount >= channel.daily_cost_budget
            ), 'is_over_month', channel.monthly_cost_budget > 0 AND channel.monthly_cost_budget <= (
                SELECT cost.month_amount FROM verification_dailychannelcost AS cost
                WHERE cost.project_id = p_project.id AND cost.channel = channel.type
                  AND cost.day BETWEEN date_trunc('month', now() AT TIME ZONE 'UTC')::date AND (now() AT TIME ZONE 'UTC')::date
                ORDER BY cost.day DESC LIMIT 1
            ), 'providers', (
                SELECT coalesce(jsonb_agg(
                    jsonb_build_object(
                        'id', provider.id, 'type', provider.type, 'name', provider.name,
                        'is_system', provider.project_id IS NULL,
                        'settings', CASE WHEN channel.type IN ('messenger_a', 'messenger_b') THEN provider.settings ELSE '{}' END
                    ) ORDER BY provider.project_id IS NULL, provider.priority, provider.id
                ), '[]')
                FROM verification_provider AS provider
                WHERE provider.channel = channel.type
                  AND provider.is_enabled
                  AND (provider.project_id = p_project.id OR provider.project_id IS NULL AND NOT p_project.is_sandbox)
            )) ORDER BY channel.position, channel.id), '[]')
            FROM verification_channel AS channel
            WHERE channel.project_id = p_project.id AND channel.is_active
              AND channel.type NOT IN (SELECT subject FROM verification_killswitch)
        ),
        'fallback', (
            SELECT coalesce(jsonb_agg(jsonb_build_array(step.channel, step.wait_seconds) ORDER BY step.position, step.id), '[]')
            FROM verification_fallbackstep AS step WHERE step.project_id = p_project.id
        ),
        'observes_countries', p_project.created_at > statement_timestamp() - make_interval(days => p_project.guard_country_observe_days),
        'platform', (SELECT to_jsonb(platform) FROM verification_platform AS platform),
        'is_stopped', EXISTS (SELECT FROM verification_killswitch WHERE subject = 'all'),
        'lists', (
            SELECT coalesce(jsonb_agg(jsonb_build_array(entry.kind, entry.subject, entry.value)), '[]')
            FROM verification_listentry AS entry
            WHERE (entry.project_id = p_project.id OR entry.project_id IS NULL)
              AND (entry.expires_at IS NULL OR entry.expires_at > now())
        ),
        'findings', (
            SELECT coalesce(jsonb_agg(jsonb_build_array(finding.rule, finding.subject, extract(epoch FROM finding.until - statement_timestamp()))), '[]')
            FROM (
                SELECT rule, subject, until FROM verification_guardblock
                WHERE project_id = p_project.id
                  AND rule IN ('wrong_codes', 'same_guess', 'network', 'network_refused', 'network_countries', 'strangers')
                  AND until > now()
                  AND since <= latest_past(statement_timestamp())
                  AND lifted_at IS NULL
                ORDER BY since DESC LIMIT 1000  -- nobody's attack makes the snapshot any larger
            ) AS finding
        ),
        'test_logins', (
            SELECT coalesce(jsonb_object_agg(login.to, jsonb_build_array(login.revision, login.code_encrypted)), '{}')
            FROM verification_testlogin AS login
            WHERE login.project_id = p_project.id
              AND p_project.test_logins_enabled
              AND (login.expires_at IS NULL OR login.expires_at > now())
        )
    )
$$;

-- The live key with this digest and its enabled project, or no row: unknown, expired, revoked and disabled look alike.
-- A project whose description the caller has just read is not described again.
CREATE OR REPLACE FUNCTION load_caller(p_digest bytea, p_known_project bigint)
RETURNS TABLE (
    key_id bigint, kind text, project_id bigint, expires_at timestamptz, is_use_due boolean, project jsonb
)
LANGUAGE sql STABLE AS $$
    SELECT key.id, key.kind, key.project_id, key.expires_at,
           coalesce(key.last_used_at < now() - interval '1 minute', true),
           CASE WHEN key.project_id IS DISTINCT FROM p_known_project THEN describe_project(project) END
    FROM verification_apikey AS key
    JOIN verification_project AS project ON project.id = key.project_id
    WHERE key.digest = p_digest
      AND key.revoked_at IS NULL
      AND (key.expires_at IS NULL OR key.expires_at > now())
      AND project.is_enabled
$$;

-- An enabled project by its id, for whatever happens without a caller.
CREATE OR REPLACE FUNCTION load_project(p_project bigint)
RETURNS TABLE (project jsonb) LANGUAGE sql STABLE AS $$
    SELECT describe_project(project) FROM verification_project AS project
    WHERE project.id = p_project AND project.is_enabled
$$;

-- The same by its public id.
CREATE OR REPLACE FUNCTION load_public_project(p_public_id uuid)
RETURNS TABLE (project jsonb) LANGUAGE sql STABLE AS $$
    SELECT describe_project(project) FROM verification_project AS project
    WHERE project.public_id = p_public_id AND project.is_enabled
$$;
