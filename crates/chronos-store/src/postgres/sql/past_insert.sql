-- Files executions that are over.
INSERT INTO chronos.job_executions (recorded_at, id, job_id, tag, scheduled_for, run_at, trigger,
    manual_number, attempt, retry_number, lost, priority, status, worker_id, token, started_at, finished_at,
    duration_ms, response_code, response_ms, response_body, response_truncated, error, retryable,
    retry_after_ms, reason, note, log, dead_letter)
SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[], $6::timestamptz[],
    $7::text[], $8::bigint[], $9::integer[], $10::integer[], $11::integer[], $12::smallint[], $13::text[],
    $14::text[], $15::bigint[], $16::timestamptz[], $17::timestamptz[], $18::double precision[],
    $19::integer[], $20::double precision[], $21::bytea[], $22::boolean[], $23::text[], $24::boolean[],
    $25::double precision[], $26::text[], $27::text[], $28::text[], $29::boolean[])
