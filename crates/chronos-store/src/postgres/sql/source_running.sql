-- Candidates: jobs of which something runs.
SELECT DISTINCT job_id AS id FROM chronos.live_executions WHERE reap_at IS NOT NULL OFFSET 0
