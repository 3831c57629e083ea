-- How many jobs observe a policy.
SELECT count(*) FROM chronos.job_specs WHERE quiet_hours_policy_id = $1
