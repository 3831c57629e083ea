-- What waits and runs of some jobs, in the order of ids.
WITH live AS (
    SELECT encode(substring(s.live FROM place * 16 + 1 FOR 16), 'hex')::uuid AS id
    FROM chronos.job_standings s, generate_series(0, length(s.live) / 16 - 1) AS place
    WHERE s.id = ANY ($1)
)
SELECT l.id, l.job_id, l.scheduled_for, l.run_at, l.trigger, l.manual_number, l.notice, l.attempt, l.retry_number,
    l.lost, l.priority, l.trace_id, l.overdue_at, l.held, l.worker_id, l.token, l.started_at, l.last_heartbeat_at, l.expires_at,
    l.deadline, l.cancel
FROM chronos.live_executions l WHERE l.id IN (SELECT live.id FROM live)
ORDER BY l.id
