-- Adds executions that wait, or run at once.
INSERT INTO chronos.live_executions (id, job_id, scheduled_for, run_at, trigger, manual_number, attempt,
    retry_number, lost, priority, held, worker_id, token, started_at, last_heartbeat_at, expires_at, deadline,
    reap_at, cancel)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::bigint[],
    $7::integer[], $8::integer[], $9::integer[], $10::smallint[], $11::boolean[], $12::text[], $13::bigint[],
    $14::timestamptz[], $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[],
    $19::text[])
