-- Brings live executions into their new state.
UPDATE chronos.live_executions AS l
SET held = n.held, worker_id = n.worker_id, token = n.token, started_at = n.started_at,
    last_heartbeat_at = n.last_heartbeat_at, expires_at = n.expires_at, deadline = n.deadline,
    reap_at = n.reap_at, cancel = n.cancel, overdue_at = n.overdue_at
FROM unnest($1::uuid[], $2::boolean[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[],
    $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::timestamptz[])
    AS n (id, held, worker_id, token, started_at, last_heartbeat_at, expires_at, deadline, reap_at, cancel,
        overdue_at)
WHERE l.id = n.id
