-- Every policy, in the order of ids.
SELECT policy::text FROM chronos.quiet_hours_policies ORDER BY id
