-- How long to wait until all projects together have sent a recipient fewer SMS than the platform's limit of a day, which
-- is p_limit: whole seconds, 0 for "no need to". A limit of 0 is off. A project that is alone in sending there is bound
-- by its own limits only. Sends in flight in other projects may overshoot the limit, as no lock spans projects.
-- p_erased is the recipient's hash without a project: what a project sent before it erased them counts for all others.
CREATE OR REPLACE FUNCTION wait_for_all_projects(
    p_recipient bigint, p_address text, p_erased text, p_limit integer, p_now timestamptz
) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_recipients bigint[];
    v_moments timestamptz[];
BEGIN
    IF p_limit = 0 THEN
        RETURN 0;
    END IF;
    v_recipients := ARRAY(
        SELECT id FROM verification_recipient WHERE address = p_address
        UNION
        SELECT id FROM verification_recipient WHERE erased_hash = p_erased
    );
    IF cardinality(v_recipients) = 1 OR NOT EXISTS (
        SELECT FROM unnest(v_recipients) AS other (id)
        JOIN verification_message AS message ON message.recipient_id = other.id
        WHERE other.id <> p_recipient AND is_counted AND channel = 'sms'
          AND created_at > p_now - interval '1 day' AND created_at <= latest_past(p_now)
    ) THEN
        RETURN 0;
    END IF;
    v_moments := ARRAY(
        SELECT sent.created_at FROM unnest(v_recipients) AS recipient (id)
        CROSS JOIN LATERAL (
            SELECT created_at FROM verification_message
            WHERE recipient_id = recipient.id AND is_counted AND channel = 'sms'
              AND created_at > p_now - interval '1 day' AND created_at <= latest_past(p_now)
            ORDER BY created_at DESC LIMIT p_limit
        ) AS sent
        ORDER BY sent.created_at DESC LIMIT p_limit
    );
    RETURN longest_wait(
        v_moments, jsonb_build_array(jsonb_build_object('seconds', 86400, 'limit', p_limit)), 1, false, p_now
    );
END
$$;

-- Alert the owners whose channels have used 50, 80 or 100 % of today's budget: once for each of them and day, as the
-- alert's key says. Asked by the workers' sweep, so that no request pays for it.
CREATE OR REPLACE FUNCTION raise_budget_alerts() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_today constant date := (now() AT TIME ZONE 'UTC')::date;
    v_crossed record;
    v_raised integer := 0;
BEGIN
    FOR v_crossed IN
        SELECT spend.project_id, spend.channel, spend.messages, budget.messages AS budget, threshold.percent,
               format('%s:%s:%s', spend.channel, v_today, threshold.percent) AS key,
               coalesce(nullif(channel.name, ''),
                        CASE spend.channel WHEN 'sms' THEN 'SMS' WHEN 'email' THEN 'e-mail'
                            WHEN 'messenger_a' THEN 'Telegram' WHEN 'messenger_b' THEN 'WhatsApp'
                            ELSE 'voice calls' END) AS name
        FROM verification_dailyspend AS spend
        JOIN verification_channel AS channel ON channel.project_id = spend.project_id AND channel.type = spend.channel
        CROSS JOIN LATERAL (
            SELECT least(channel.effective_budget, nullif((SELECT max_daily_budget FROM verification_platform), 0)) AS messages
        ) AS budget
        JOIN unnest('{50,80,100}'::integer[]) AS threshold (percent)
            ON budget.messages > 0 AND 100 * spend.messages::bigint >= threshold.percent * budget.messages::bigint
        WHERE spend.day = v_today
        ORDER BY spend.project_id, spend.channel, threshold.percent
    LOOP
        CONTINUE WHEN EXISTS (
            SELECT FROM verification_alert AS alert
            WHERE alert.project_id = v_crossed.project_id AND alert.kind = 'daily_budget' AND alert.key = v_crossed.key
        );
        v_raised := v_raised + raise_alert(
            v_crossed.project_id, 'daily_budget', v_crossed.key,
            format('%s: %s %% of today''s message limit used', v_crossed.name, v_crossed.percent),
            format('The channel %s sent %s of %s messages today (UTC).', v_crossed.name, v_crossed.messages,
                   v_crossed.budget)
            || CASE WHEN v_crossed.percent = 100 THEN ' Watchword sends nothing more over it until midnight UTC.'
                    ELSE ' At 100 % Watchword sends nothing more over it until midnight UTC.' END
            || ' If this is your own traffic, raise the limit on the channel''s page.'
        )::integer;
    END LOOP;
    RETURN v_raised;
END
$$;
