-- Jobs that a filter asks for among the candidates of a source, in the order of ids. The candidates are gone
-- through in order and only as far as rows are still asked for.
SELECT s.id, s.revision, s.deleted, s.due_at, s.enabled, s.next_execution_time, s.last_slot, s.deferred_until,
    s.paused_since, s.pause_note, s.resume_at, s.fired, s.manual, s.succeeded, s.failed, s.skipped, s.failed_in_a_row,
    s.last_run_at, s.last_duration_ms, s.last_error, s.last_skip_at, s.last_skip_reason, s.failing_since, s.failures,
    s.crowd, s.live, p.spec::text, p.payload
FROM (
    SELECT candidate.id FROM (chronos_source) AS candidate
    WHERE candidate.id > $1 AND candidate.id <= $2 ORDER BY candidate.id OFFSET 0
) AS c
JOIN chronos.job_standings s ON s.id = c.id
JOIN chronos.job_specs p ON p.id = c.id
WHERE ($4::text IS NULL OR p.created_by = $4)
    AND ($5::text IS NULL OR (p.name >= $5 AND p.name <= $6))
    AND ($7::text IS NULL
        OR EXISTS (SELECT FROM chronos.job_tags t WHERE t.tag = $7 AND t.job_id = c.id))
    AND ($9::boolean IS NULL OR (s.paused_since IS NOT NULL) = $9)
    AND ($10::boolean IS NULL OR p.recurring = $10)
    AND ($11::timestamptz IS NULL OR s.next_execution_time >= $11)
    AND ($12::timestamptz IS NULL OR s.next_execution_time < $12)
    AND ($8::text IS NULL OR $8 = CASE WHEN s.live = '' THEN s.rest ELSE (
        SELECT CASE WHEN bool_and(l.notice IS NOT NULL) THEN s.rest
            WHEN bool_or(l.token IS NOT NULL AND l.notice IS NULL) THEN 'RUNNING'
            WHEN bool_or(l.retry_number > 0 AND l.notice IS NULL) THEN 'RETRY_PENDING' ELSE 'PENDING' END
        FROM generate_series(0, length(s.live) / 16 - 1) AS place
        JOIN chronos.live_executions l
            ON l.id = encode(substring(s.live FROM place * 16 + 1 FOR 16), 'hex')::uuid
    ) END)
ORDER BY c.id
LIMIT $3
