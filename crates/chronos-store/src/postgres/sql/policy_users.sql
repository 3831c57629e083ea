-- The names of the jobs that observe a policy, in the order of the jobs' ids.
SELECT name FROM chronos.job_specs WHERE quiet_hours_policy_id = $1 ORDER BY id
