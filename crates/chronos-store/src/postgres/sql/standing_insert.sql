-- Places a new job at its first slot: with the crowd, if it has an owner with so many others. One of the same id
-- that was deleted may still run.
INSERT INTO chronos.job_standings AS s (id, revision, deleted, enabled, rest, max_execution_us, due_at,
    next_execution_time, retry_count, fired, manual, succeeded, failed, skipped, failed_in_a_row, crowd, live)
VALUES ($1, nextval('chronos.revisions'), false, $2, 'PENDING', $3, $4, $5, 0, 0, 0, 0, 0, 0, 0,
    $6 <> '' AND (SELECT count(*) FROM (SELECT FROM chronos.job_specs WHERE created_by = $6 LIMIT $7 + 1) AS own) > $7, '')
ON CONFLICT (id) DO UPDATE
SET revision = excluded.revision, deleted = false, enabled = excluded.enabled, rest = 'PENDING',
    crowd = excluded.crowd, max_execution_us = excluded.max_execution_us, due_at = excluded.due_at,
    next_execution_time = excluded.next_execution_time, last_slot = NULL, deferred_until = NULL,
    paused_since = NULL, pause_note = NULL, resume_at = NULL, retry_count = 0, fired = 0, manual = 0, succeeded = 0,
    failed = 0, skipped = 0, failed_in_a_row = 0, last_run_at = NULL, last_duration_ms = NULL,
    last_error = NULL, last_skip_at = NULL, last_skip_reason = NULL, failing_since = NULL,
    failures = NULL
WHERE s.deleted
RETURNING revision
