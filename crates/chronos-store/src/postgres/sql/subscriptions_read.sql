-- Subscriptions in the order of their ids, after one.
SELECT subscription::text FROM chronos.subscriptions WHERE id > $1 ORDER BY id LIMIT $2
