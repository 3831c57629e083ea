-- Locks the jobs that have been due longest. Those that another planner has are left to it.
SELECT s.id, s.revision, s.changes, s.deleted, s.due_at, s.enabled, s.next_execution_time, s.last_slot, s.deferred_until,
    s.paused_since, s.pause_note, s.resume_at, s.fired, s.manual, s.succeeded, s.failed, s.skipped, s.failed_in_a_row,
    s.last_run_at, s.last_duration_ms, s.last_error, s.last_skip_at, s.last_skip_reason, s.failing_since, s.failures,
    s.live
FROM chronos.job_standings s
WHERE s.due_at IS NOT NULL AND (s.due_at, s.id) >= ($1, $2) AND s.due_at <= $3 AND s.id <> ALL ($4)
ORDER BY s.due_at, s.id
LIMIT $5
FOR UPDATE SKIP LOCKED
