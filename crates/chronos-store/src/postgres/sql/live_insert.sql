-- Adds executions that wait, or run at once.
INSERT INTO chronos.live_executions (id, job_id, scheduled_for, run_at, trigger, manual_number, attempt,
    retry_number, lost, priority, trace_id, held, worker_id, token, started_at, last_heartbeat_at, expires_at, deadline,
    reap_at, cancel)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::bigint[],
    $7::integer[], $8::integer[], $9::integer[], $10::smallint[], $11::uuid[], $12::boolean[], $13::text[], $14::bigint[],
    $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[], $19::timestamptz[],
    $20::text[])
