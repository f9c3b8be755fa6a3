-- Keep what a call told of a bot's users, each by its key once, in the order of the arrays. Nothing is kept, and is_kept
-- false, where p_max of the bot's updates wait already.
CREATE OR REPLACE FUNCTION store_updates(
    p_provider bigint, p_max integer, p_keys text[], p_accounts text[], p_events jsonb, OUT is_kept boolean
) LANGUAGE plpgsql AS $$
BEGIN
    is_kept := p_max > (
        SELECT count(*) FROM (
            SELECT FROM verification_botupdate WHERE provider_id = p_provider AND due_at IS NOT NULL LIMIT p_max
        ) AS waiting
    );
    IF is_kept THEN
        INSERT INTO verification_botupdate (provider_id, key, account_id, event)
        SELECT p_provider, told.key, told.account, told.event
        FROM ROWS FROM (unnest(p_keys), unnest(p_accounts), jsonb_array_elements(p_events))
            WITH ORDINALITY AS told (key, account, event, place)
        ORDER BY told.place
        ON CONFLICT (provider_id, key) DO NOTHING;
    END IF;
END
$$;
