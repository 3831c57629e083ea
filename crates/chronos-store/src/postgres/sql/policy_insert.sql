-- Adds a policy.
INSERT INTO chronos.quiet_hours_policies (id, name, policy) VALUES ($1, $2, $3::json)
