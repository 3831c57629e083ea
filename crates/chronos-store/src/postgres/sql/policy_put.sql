-- Adds a policy or replaces the one of the same id.
INSERT INTO chronos.quiet_hours_policies (id, policy) VALUES ($1, $2::json)
ON CONFLICT (id) DO UPDATE SET policy = excluded.policy
