-- Locks those of some jobs that nobody else has, in the order of their ids.
SELECT s.id, s.revision, s.changes, s.deleted, s.due_at, s.enabled, s.next_execution_time, s.last_slot, s.deferred_until,
    s.paused_since, s.pause_note, s.resume_at, s.fired, s.manual, s.succeeded, s.failed, s.skipped, s.failed_in_a_row,
    s.last_run_at, s.last_duration_ms, s.last_error, s.last_skip_at, s.last_skip_reason, s.failing_since, s.failures,
    s.crowd, s.live
FROM chronos.job_standings s
WHERE s.id = ANY ($1)
ORDER BY s.id
FOR UPDATE SKIP LOCKED
