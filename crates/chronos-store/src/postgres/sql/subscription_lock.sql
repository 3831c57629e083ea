-- Keeps others from changing a subscription until the step is over.
SELECT subscription::text FROM chronos.subscriptions WHERE id = $1 FOR NO KEY UPDATE
