-- Candidates: jobs whose next slot is in a span, and those that are not due at their next slot.
SELECT id FROM (
    SELECT id FROM chronos.job_standings
    WHERE crowd IN (false, true) AND due_at >= coalesce($11, '-infinity') AND due_at < coalesce($12, 'infinity') AND due_at = next_execution_time
    UNION ALL
    SELECT id FROM chronos.job_standings WHERE due_at IS DISTINCT FROM next_execution_time
) AS next OFFSET 0
