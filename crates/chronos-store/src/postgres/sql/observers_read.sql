-- The jobs that observe a policy, in the order of their ids.
SELECT id, created_by, name FROM chronos.job_specs WHERE quiet_hours_policy_id = $1 ORDER BY id LIMIT $2
