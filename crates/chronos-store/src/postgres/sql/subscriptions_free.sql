-- Subscriptions that somebody may take, those that have waited longest first; what others take at the moment is
-- theirs.
SELECT subscription::text FROM chronos.subscriptions
WHERE free_at <= $1
ORDER BY free_at, id LIMIT $2
FOR NO KEY UPDATE SKIP LOCKED
