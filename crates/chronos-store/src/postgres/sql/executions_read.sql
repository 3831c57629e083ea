-- A job's executions, alive and over, newest first, before one.
WITH live AS (
    SELECT encode(substring(s.live FROM place * 16 + 1 FOR 16), 'hex')::uuid AS id
    FROM chronos.job_standings s, generate_series(0, length(s.live) / 16 - 1) AS place
    WHERE s.id = $1
)
SELECT l.id, l.job_id, l.scheduled_for, l.run_at, l.trigger, l.manual_number, l.notice, l.attempt, l.retry_number,
    l.lost, l.priority, l.trace_id, l.overdue_at, l.held, l.worker_id, l.token, l.started_at, l.last_heartbeat_at, l.expires_at,
    l.deadline, l.cancel,
    CASE WHEN l.token IS NULL THEN 'QUEUED' ELSE 'RUNNING' END AS status, NULL::timestamptz AS finished_at,
    NULL::double precision AS duration_ms, NULL::text AS log, NULL::integer AS response_code,
    NULL::double precision AS response_ms, NULL::bytea AS response_body, NULL::boolean AS response_truncated,
    NULL::text AS error, NULL::boolean AS retryable, NULL::double precision AS retry_after_ms,
    NULL::text AS reason, NULL::text AS note
FROM chronos.live_executions l WHERE l.id IN (SELECT live.id FROM live) AND l.id < $3
UNION ALL
(SELECT e.id, e.job_id, e.scheduled_for, e.run_at, e.trigger, e.manual_number, e.notice, e.attempt, e.retry_number,
    e.lost, e.priority, e.trace_id, e.overdue_at, NULL::boolean AS held, e.worker_id, e.token, e.started_at, NULL::timestamptz AS last_heartbeat_at,
    NULL::timestamptz AS expires_at, NULL::timestamptz AS deadline, NULL::text AS cancel, e.status,
    e.finished_at, e.duration_ms, e.log, e.response_code, e.response_ms, e.response_body,
    e.response_truncated, e.error, e.retryable, e.retry_after_ms, e.reason, e.note
FROM chronos.job_executions e WHERE e.tag = $2 AND e.job_id = $1 AND e.id < $3
ORDER BY e.id DESC LIMIT $4)
ORDER BY id DESC LIMIT $4
