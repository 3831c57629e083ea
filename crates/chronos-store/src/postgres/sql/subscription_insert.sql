-- Adds a subscription.
INSERT INTO chronos.subscriptions (id, created_by, name, subscription, token, free_at)
VALUES ($1, $2, $3, $4::json, $5, $6)
