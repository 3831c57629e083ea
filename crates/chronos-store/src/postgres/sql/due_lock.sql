-- Locks the jobs that have been due longest, of those before the crowd and of the crowd. Those that another planner
-- has are left to it.
SELECT s.id, s.revision, s.deleted, s.due_at, s.enabled, s.next_execution_time, s.last_slot, s.deferred_until,
    s.paused_since, s.pause_note, s.resume_at, s.fired, s.manual, s.succeeded, s.failed, s.skipped, s.failed_in_a_row,
    s.last_run_at, s.last_duration_ms, s.last_error, s.last_skip_at, s.last_skip_reason, s.failing_since, s.failures,
    s.crowd, s.live
FROM unnest($1::boolean[], $2::timestamptz[], $3::uuid[], $4::bigint[]) AS side (crowd, due_at, id, most)
CROSS JOIN LATERAL (
    SELECT * FROM chronos.job_standings due
    WHERE due.crowd = side.crowd AND due.due_at IS NOT NULL AND (due.due_at, due.id) >= (side.due_at, side.id)
        AND due.due_at <= $5 AND due.id <> ALL ($6)
    ORDER BY due.due_at, due.id
    LIMIT side.most
    FOR UPDATE SKIP LOCKED
) AS s
LIMIT $7
