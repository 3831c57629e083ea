-- Keeps jobs from beginning to refer to a policy until the step is over.
SELECT policy::text FROM chronos.quiet_hours_policies WHERE id = $1 FOR UPDATE
