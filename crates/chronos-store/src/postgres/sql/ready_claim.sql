-- Hands executions to a worker: the most urgent first, and of equals those that have waited longest. Each
-- level is read from its own place on, and only as far as rows are still asked for, so that no more are
-- locked than are handed out. Those that someone else has are left to them. Gives back what the worker does
-- not know of each; and in every row, of which there is one at least, when the next of all levels may begin, from
-- other places on.
WITH claimed AS (
    UPDATE chronos.live_executions l
    SET token = nextval('chronos.tokens'), worker_id = $7, started_at = $4, last_heartbeat_at = $4, expires_at = $8,
        deadline = $4 + l.limit_us * interval '1 microsecond', reap_at = $8
    WHERE l.ctid = ANY (ARRAY (
        SELECT first.place
        FROM unnest($1::smallint[], $2::timestamptz[], $3::uuid[]) AS level (priority, run_at, id)
        CROSS JOIN LATERAL (
            SELECT l.ctid AS place
            FROM chronos.live_executions l
            WHERE l.token IS NULL AND NOT l.held AND l.priority = level.priority
                AND (l.run_at, l.id) >= (level.run_at, level.id) AND l.run_at <= $4 AND l.job_id <> ALL ($5)
            ORDER BY l.run_at, l.id
            LIMIT $6
            FOR UPDATE SKIP LOCKED
        ) AS first
        LIMIT $6
    ))
    RETURNING l.id, l.job_id, l.scheduled_for, l.run_at, l.trigger, l.manual_number, l.notice, l.attempt,
        l.retry_number, l.lost, l.priority, l.trace_id, l.overdue_at, l.token, l.deadline, l.revision
), leased AS (
    INSERT INTO chronos.leases (id, reap_at, executions)
    SELECT min(token), $8, array_agg(id) FROM claimed HAVING count(*) > 0
)
SELECT later.run_at, claimed.*
FROM (
    SELECT min(first.run_at) AS run_at
    FROM unnest($1::smallint[], $9::timestamptz[], $10::uuid[]) AS level (priority, run_at, id)
    CROSS JOIN LATERAL (
        SELECT l.run_at
        FROM chronos.live_executions l
        WHERE l.token IS NULL AND NOT l.held AND l.priority = level.priority
            AND (l.run_at, l.id) >= (level.run_at, level.id) AND l.job_id <> ALL ($5)
        ORDER BY l.run_at, l.id
        LIMIT 1
    ) AS first
) AS later LEFT JOIN claimed ON true
