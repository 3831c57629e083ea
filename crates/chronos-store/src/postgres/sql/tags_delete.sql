-- Forgets what a job was filed under.
DELETE FROM chronos.job_tags WHERE job_id = $1
