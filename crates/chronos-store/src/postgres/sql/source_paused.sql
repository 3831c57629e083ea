-- Candidates: jobs that are paused.
SELECT id FROM chronos.job_standings WHERE paused_since IS NOT NULL
