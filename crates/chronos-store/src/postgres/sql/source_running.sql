-- Candidates: jobs of which something runs.
SELECT DISTINCT job_id AS id FROM chronos.live_executions WHERE reap_at IS NOT NULL AND notice IS NULL OFFSET 0
