-- Moves jobs to where they stand now.
UPDATE chronos.job_standings AS s
SET deleted = n.deleted, due_at = n.due_at, enabled = n.enabled, rest = n.rest, next_execution_time = n.next_execution_time,
    last_slot = n.last_slot, deferred_until = n.deferred_until, paused_since = n.paused_since,
    pause_note = n.pause_note, retry_count = n.retry_count, fired = n.fired, manual = n.manual,
    succeeded = n.succeeded, failed = n.failed, skipped = n.skipped, failed_in_a_row = n.failed_in_a_row,
    last_run_at = n.last_run_at, last_duration_ms = n.last_duration_ms, last_error = n.last_error,
    last_skip_at = n.last_skip_at, last_skip_reason = n.last_skip_reason, failing_since = n.failing_since,
    failures = n.failures, live = n.live, resume_at = n.resume_at
FROM unnest($1::uuid[], $2::boolean[], $3::timestamptz[], $4::boolean[], $5::text[], $6::timestamptz[],
    $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::integer[], $12::bigint[],
    $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::timestamptz[],
    $19::double precision[], $20::text[], $21::timestamptz[], $22::text[], $23::timestamptz[],
    $24::integer[], $25::bytea[], $26::timestamptz[])
    AS n (id, deleted, due_at, enabled, rest, next_execution_time, last_slot, deferred_until, paused_since,
        pause_note, retry_count, fired, manual, succeeded, failed, skipped, failed_in_a_row, last_run_at,
        last_duration_ms, last_error, last_skip_at, last_skip_reason, failing_since, failures, live,
        resume_at)
WHERE s.id = n.id
