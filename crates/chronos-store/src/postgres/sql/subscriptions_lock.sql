-- Keeps others from changing these subscriptions until the step is over.
SELECT subscription::text FROM chronos.subscriptions WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE
