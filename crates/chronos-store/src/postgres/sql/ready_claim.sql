-- Hands executions to a worker: the most urgent first, and of equals those that have waited longest. Each
-- level is read from its own place on, and only as far as rows are still asked for, so that no more are
-- locked than are handed out. Those that someone else has are left to them. Gives back what the worker does
-- not know of each, and where its job stands.
WITH ready AS MATERIALIZED (
    SELECT first.place, first.job_id
    FROM unnest($1::smallint[], $2::timestamptz[], $3::uuid[]) AS level (priority, run_at, id)
    CROSS JOIN LATERAL (
        SELECT l.ctid AS place, l.job_id
        FROM chronos.live_executions l
        WHERE l.token IS NULL AND NOT l.held AND l.priority = level.priority
            AND (l.run_at, l.id) >= (level.run_at, level.id) AND l.run_at <= $4 AND l.job_id <> ALL ($5)
        ORDER BY l.run_at, l.id
        LIMIT $6
        FOR UPDATE SKIP LOCKED
    ) AS first
    LIMIT $6
), numbered AS MATERIALIZED (
    SELECT ready.place, ready.job_id, nextval('chronos.tokens') AS token FROM ready
)
UPDATE chronos.live_executions l
SET token = numbered.token, worker_id = $7, started_at = $4, last_heartbeat_at = $4, expires_at = $8,
    deadline = $4 + CASE WHEN l.notice IS NULL THEN s.max_execution_us ELSE $9 END * interval '1 microsecond',
    reap_at = $8
FROM numbered JOIN chronos.job_standings s ON s.id = numbered.job_id
WHERE l.ctid = numbered.place
RETURNING l.id, l.job_id, l.scheduled_for, l.run_at, l.trigger, l.manual_number, l.notice, l.attempt, l.retry_number,
    l.lost, l.priority, l.trace_id, l.overdue_at, l.token, l.deadline,
    s.id, s.revision, s.changes, s.deleted, s.due_at, s.enabled, s.next_execution_time, s.last_slot, s.deferred_until,
    s.paused_since, s.pause_note, s.resume_at, s.fired, s.manual, s.succeeded, s.failed, s.skipped, s.failed_in_a_row,
    s.last_run_at, s.last_duration_ms, s.last_error, s.last_skip_at, s.last_skip_reason, s.failing_since, s.failures,
    s.crowd, s.live
