-- When an execution may begin first, of those that wait at or after a place of their level; and when one of those
-- before the crowd, whose numbers are below ten.
SELECT min(first.run_at), min(first.run_at) FILTER (WHERE level.priority < 10)
FROM unnest($1::smallint[], $2::timestamptz[], $3::uuid[]) AS level (priority, run_at, id)
CROSS JOIN LATERAL (
    SELECT l.run_at
    FROM chronos.live_executions l
    WHERE l.token IS NULL AND NOT l.held AND l.priority = level.priority
        AND (l.run_at, l.id) >= (level.run_at, level.id) AND l.job_id <> ALL ($4)
    ORDER BY l.run_at, l.id
    LIMIT 1
) AS first
