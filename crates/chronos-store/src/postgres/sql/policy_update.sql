-- Replaces what a policy says.
UPDATE chronos.quiet_hours_policies SET name = $2, policy = $3::json WHERE id = $1
