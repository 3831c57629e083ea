-- What is due first of each kind, however long ago.
SELECT
    (SELECT due_at FROM chronos.job_standings WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
    (SELECT min(first.run_at)
    FROM generate_series(0, 9) AS level
    CROSS JOIN LATERAL (
        SELECT l.run_at FROM chronos.live_executions l
        WHERE l.token IS NULL AND NOT l.held AND l.priority = level::smallint
        ORDER BY l.run_at LIMIT 1
    ) AS first)
