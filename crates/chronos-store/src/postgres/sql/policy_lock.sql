-- Keeps a policy from being deleted until the step is over.
SELECT 1 FROM chronos.quiet_hours_policies WHERE id = $1 FOR KEY SHARE
