-- A subscription.
SELECT subscription::text FROM chronos.subscriptions WHERE id = $1
