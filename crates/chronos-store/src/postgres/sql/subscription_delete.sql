-- Removes a subscription.
DELETE FROM chronos.subscriptions WHERE id = $1 RETURNING id
