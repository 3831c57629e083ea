-- Candidates: an owner's jobs.
SELECT id FROM chronos.job_specs WHERE created_by = $4
