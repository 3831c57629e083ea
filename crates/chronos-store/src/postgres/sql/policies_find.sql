-- Some policies.
SELECT policy::text FROM chronos.quiet_hours_policies WHERE id = ANY ($1)
