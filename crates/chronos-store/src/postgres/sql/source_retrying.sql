-- Candidates: jobs of which something waits to be tried again.
SELECT DISTINCT job_id AS id FROM chronos.live_executions WHERE token IS NULL AND retry_number > 0 AND notice IS NULL
