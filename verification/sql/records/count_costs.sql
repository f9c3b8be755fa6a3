-- The costs that last, counted from the attempts of an hour, as count_figures.sql counts the figures. Called by its
-- functions, under their lock.
-- An attempt costs something once a provider accepted the message, or may have; a question of a risk check once it was
-- answered. Its currency is empty where nobody knows
-- its price. Amounts stay in the currency that was charged: reports turn them into the currency of account.

-- Count the costs of one hour of all projects. The countries of its numbers are noted already.
CREATE OR REPLACE FUNCTION count_costs(p_hour timestamptz) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    v_end constant timestamptz := p_hour + interval '1 hour';
BEGIN
    WITH project AS MATERIALIZED (
        SELECT id FROM countable_projects(p_hour) AS id
    ), counted AS MATERIALIZED (
        SELECT project.id AS project_id, message.channel, coalesce(attempt.provider_id, 0) AS provider_id,
               coalesce(known.country, '') AS country, message.language,
               CASE WHEN attempt.price IS NULL THEN '' ELSE coalesce(attempt.currency, '') END AS currency,
               sum(attempt.sends) AS sends, sum(coalesce(attempt.segments, 1)) AS segments,
               coalesce(sum(attempt.price), 0) AS amount
        FROM project
        CROSS JOIN LATERAL (
            SELECT id, recipient_id, channel, language
            FROM verification_message
            WHERE project_id = project.id AND created_at >= p_hour AND created_at < v_end AND NOT is_test
        ) AS message
        JOIN LATERAL (
            SELECT provider_id, segments, price, currency, 1 AS sends FROM verification_deliveryattempt
            WHERE message_id = message.id AND outcome IN ('accepted', 'unknown', 'unclear')
            UNION ALL  -- a question about the number, which is no send and no provider's
            SELECT NULL, 0, price, currency, 0 FROM verification_riskverdict
            WHERE message_id = message.id AND price IS NOT NULL
        ) AS attempt ON true
        LEFT JOIN verification_recipient AS recipient ON recipient.id = message.recipient_id
        LEFT JOIN verification_numberarea AS known ON known.area = number_area(recipient.address)
        GROUP BY 1, 2, 3, 4, 5, 6
    ), gone AS (
        DELETE FROM verification_hourlycosts AS costs
        WHERE costs.hour = p_hour AND costs.project_id IN (SELECT id FROM project) AND NOT EXISTS (
            SELECT FROM counted
            WHERE counted.project_id = costs.project_id AND counted.channel = costs.channel
              AND counted.provider_id = costs.provider_id AND counted.country = costs.country
              AND counted.language = costs.language AND counted.currency = costs.currency
        )
    )
    INSERT INTO verification_hourlycosts AS costs (
        hour, project_id, channel, provider_id, country, language, currency, sends, segments, amount
    )
    SELECT p_hour, counted.* FROM counted
    ON CONFLICT (project_id, hour, channel, provider_id, country, language, currency) DO UPDATE SET
        sends = excluded.sends, segments = excluded.segments, amount = excluded.amount
    WHERE (costs.sends, costs.segments, costs.amount) IS DISTINCT FROM
          (excluded.sends, excluded.segments, excluded.amount);
END
$$;

-- Sum the hours of one day (UTC) into its daily costs, for the same projects as sum_day does.
CREATE OR REPLACE FUNCTION sum_costs(p_day date, p_hours_since timestamptz) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_start constant timestamptz := p_day::timestamp AT TIME ZONE 'UTC';
    v_end constant timestamptz := (p_day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    DELETE FROM verification_dailycosts AS costs
    WHERE costs.day = p_day
      AND (v_start >= p_hours_since OR costs.project_id IN (SELECT countable_projects(v_start)));
    INSERT INTO verification_dailycosts AS costs (
        day, project_id, channel, provider_id, country, language, currency, sends, segments, amount
    )
    SELECT p_day, project_id, channel, provider_id, country, language, currency, sum(sends), sum(segments), sum(amount)
    FROM verification_hourlycosts
    WHERE hour >= v_start AND hour < v_end
      AND (v_start >= p_hours_since OR project_id IN (SELECT countable_projects(v_start)))
    GROUP BY project_id, channel, provider_id, country, language, currency;
END
$$;
