-- Hands the executions that have waited longest to a worker. Those that someone else has are left to them.
WITH ready AS MATERIALIZED (
    SELECT l.id, l.job_id
    FROM chronos.live_executions l
    WHERE l.token IS NULL AND NOT l.held AND (l.run_at, l.id) >= ($1, $2) AND l.run_at <= $3
        AND l.job_id <> ALL ($4)
    ORDER BY l.run_at, l.id
    LIMIT $5
    FOR UPDATE SKIP LOCKED
), numbered AS MATERIALIZED (
    SELECT ready.id, ready.job_id, nextval('chronos.tokens') AS token FROM ready
)
UPDATE chronos.live_executions l
SET token = numbered.token, worker_id = $6, started_at = $3, last_heartbeat_at = $3, expires_at = $7,
    deadline = $3 + s.max_execution_us * interval '1 microsecond',
    reap_at = $7
FROM numbered JOIN chronos.job_standings s ON s.id = numbered.job_id
WHERE l.id = numbered.id
RETURNING l.id, l.job_id, l.scheduled_for, l.run_at, l.trigger, l.manual_number, l.attempt, l.retry_number,
    l.lost, l.held, l.worker_id, l.token, l.started_at, l.last_heartbeat_at, l.expires_at, l.deadline,
    l.cancel, s.revision
