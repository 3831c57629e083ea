-- Files executions that are over.
INSERT INTO chronos.job_executions (recorded_at, id, job_id, tag, scheduled_for, run_at, trigger,
    manual_number, attempt, retry_number, lost, priority, trace_id, status, worker_id, token, started_at, finished_at,
    duration_ms, response_code, response_ms, response_body, response_truncated, error, retryable,
    retry_after_ms, reason, note, log, dead_letter)
SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[], $6::timestamptz[],
    $7::text[], $8::bigint[], $9::integer[], $10::integer[], $11::integer[], $12::smallint[], $13::uuid[], $14::text[],
    $15::text[], $16::bigint[], $17::timestamptz[], $18::timestamptz[], $19::double precision[],
    $20::integer[], $21::double precision[], $22::bytea[], $23::boolean[], $24::text[], $25::boolean[],
    $26::double precision[], $27::text[], $28::text[], $29::text[], $30::boolean[])
