-- Executions that are over, by their ids, of those that were recorded between two times.
SELECT e.id, e.job_id, e.scheduled_for, e.run_at, e.trigger, e.manual_number, e.notice, e.attempt, e.retry_number,
    e.lost, e.priority, e.trace_id, e.overdue_at, NULL::boolean AS held, e.worker_id, e.token, e.started_at,
    NULL::timestamptz AS last_heartbeat_at, NULL::timestamptz AS expires_at, NULL::timestamptz AS deadline,
    NULL::text AS cancel, e.status, e.finished_at, e.duration_ms, e.log, e.response_code, e.response_ms,
    e.response_body, e.response_truncated, e.error, e.retryable, e.retry_after_ms, e.reason, e.note
FROM unnest($1::uuid[], $2::integer[]) AS wanted (id, tag)
JOIN chronos.job_executions e ON e.tag = wanted.tag AND e.id = wanted.id
    AND e.recorded_at BETWEEN $3::timestamptz AND $4::timestamptz
