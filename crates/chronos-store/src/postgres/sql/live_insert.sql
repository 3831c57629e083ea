-- Adds executions that wait, or run at once.
INSERT INTO chronos.live_executions (id, job_id, scheduled_for, run_at, trigger, manual_number, notice, attempt,
    retry_number, lost, priority, trace_id, overdue_at, held, worker_id, token, started_at, last_heartbeat_at,
    expires_at, deadline, reap_at, cancel, revision, limit_us)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::bigint[],
    $7::text[], $8::integer[], $9::integer[], $10::integer[], $11::smallint[], $12::uuid[], $13::timestamptz[],
    $14::boolean[], $15::text[], $16::bigint[], $17::timestamptz[], $18::timestamptz[], $19::timestamptz[],
    $20::timestamptz[], $21::timestamptz[], $22::text[], $23::bigint[], $24::bigint[])
