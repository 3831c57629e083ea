-- Replaces what is known of a subscription, which the step has locked.
UPDATE chronos.subscriptions SET name = $3, subscription = $4::json, token = $5, free_at = $6
WHERE id = $1 AND created_by = $2
