-- As subscriptions_read, of one owner.
SELECT subscription::text FROM chronos.subscriptions WHERE created_by = $3 AND id > $1 ORDER BY id LIMIT $2
