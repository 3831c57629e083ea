-- As subscription_update, of several.
UPDATE chronos.subscriptions s SET subscription = n.subscription::json, token = n.token, free_at = n.free_at
FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::timestamptz[]) AS n (id, subscription, token, free_at)
WHERE s.id = n.id
