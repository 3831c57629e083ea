-- Forgets what a user asked for, and with it the job's checkpoint.
DELETE FROM chronos.job_specs WHERE id = $1
