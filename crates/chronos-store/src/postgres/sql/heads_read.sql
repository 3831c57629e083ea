-- What is due first of each kind, however long ago.
SELECT
    (SELECT min(first.due_at)
    FROM unnest(ARRAY[false, true]) AS side
    CROSS JOIN LATERAL (
        SELECT s.due_at FROM chronos.job_standings s
        WHERE s.crowd = side AND s.due_at IS NOT NULL
        ORDER BY s.due_at LIMIT 1
    ) AS first),
    (SELECT min(first.run_at)
    FROM generate_series(0, 19) AS level
    CROSS JOIN LATERAL (
        SELECT l.run_at FROM chronos.live_executions l
        WHERE l.token IS NULL AND NOT l.held AND l.priority = level::smallint
        ORDER BY l.run_at LIMIT 1
    ) AS first)
