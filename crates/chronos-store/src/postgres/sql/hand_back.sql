-- Queues what was claimed and cannot be run.
UPDATE chronos.live_executions l
SET token = NULL, worker_id = NULL, started_at = NULL, last_heartbeat_at = NULL, expires_at = NULL,
    deadline = NULL, reap_at = NULL, cancel = NULL
FROM unnest($1::uuid[], $2::bigint[]) AS h (id, token)
WHERE l.id = h.id AND l.token = h.token AND l.cancel IS NULL
