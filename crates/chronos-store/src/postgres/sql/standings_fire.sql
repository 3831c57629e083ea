-- Moves jobs to their next slots; nothing else of them has changed.
UPDATE chronos.job_standings AS s
SET due_at = n.due_at, next_execution_time = n.next_execution_time,
    last_slot = n.last_slot, retry_count = 0, fired = n.fired, live = n.live
FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::bytea[])
    AS n (id, due_at, next_execution_time, last_slot, fired, live)
WHERE s.id = n.id
