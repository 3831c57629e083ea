-- Executions that have not begun in time, those that are longest overdue first.
SELECT id FROM chronos.live_executions
WHERE token IS NULL AND overdue_at IS NOT NULL AND overdue_at <= $1 AND job_id <> ALL ($2)
ORDER BY overdue_at, id
LIMIT $3
