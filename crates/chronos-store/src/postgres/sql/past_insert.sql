-- Files executions that are over.
INSERT INTO chronos.job_executions (recorded_at, id, job_id, tag, scheduled_for, run_at, trigger,
    manual_number, notice, attempt, retry_number, lost, priority, trace_id, overdue_at, status, worker_id, token,
    started_at, finished_at, duration_ms, response_code, response_ms, response_body, response_truncated, error,
    retryable, retry_after_ms, reason, note, log, dead_letter)
SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[], $6::timestamptz[],
    $7::text[], $8::bigint[], $9::text[], $10::integer[], $11::integer[], $12::integer[], $13::smallint[],
    $14::uuid[], $15::timestamptz[], $16::text[], $17::text[], $18::bigint[], $19::timestamptz[],
    $20::timestamptz[], $21::double precision[], $22::integer[], $23::double precision[], $24::bytea[],
    $25::boolean[], $26::text[], $27::boolean[], $28::double precision[], $29::text[], $30::text[],
    $31::text[], $32::boolean[])
