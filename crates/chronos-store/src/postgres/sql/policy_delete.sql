-- Removes a policy.
DELETE FROM chronos.quiet_hours_policies WHERE id = $1
