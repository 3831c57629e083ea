-- What is due first of each kind, however long ago.
SELECT
    (SELECT due_at FROM chronos.job_standings WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
    (SELECT run_at FROM chronos.live_executions WHERE token IS NULL AND NOT held ORDER BY run_at LIMIT 1)
