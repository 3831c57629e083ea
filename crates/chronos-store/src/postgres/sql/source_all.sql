-- Candidates: every job.
SELECT id FROM chronos.job_specs
