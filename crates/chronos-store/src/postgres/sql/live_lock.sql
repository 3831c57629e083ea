-- Locks live executions in the order of their ids, so that no worker takes one meanwhile.
SELECT l.id, l.job_id, l.scheduled_for, l.run_at, l.trigger, l.manual_number, l.notice, l.attempt, l.retry_number,
    l.lost, l.priority, l.trace_id, l.overdue_at, l.held, l.worker_id, l.token, l.started_at, l.last_heartbeat_at, l.expires_at,
    l.deadline, l.cancel
FROM chronos.live_executions l
WHERE l.id = ANY ($1)
ORDER BY l.id
FOR UPDATE
