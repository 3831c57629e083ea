-- Keeps others from editing a policy until the step is over.
SELECT policy::text FROM chronos.quiet_hours_policies WHERE id = $1 FOR NO KEY UPDATE
