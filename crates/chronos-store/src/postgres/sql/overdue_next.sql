-- When the first execution that waits is overdue.
SELECT overdue_at FROM chronos.live_executions
WHERE token IS NULL AND overdue_at IS NOT NULL AND job_id <> ALL ($1)
ORDER BY overdue_at LIMIT 1
