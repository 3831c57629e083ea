-- What is known of the executions of some slots of a job, by the ids that these can have, and whether each began.
SELECT known.* FROM unnest($3::uuid[], $4::uuid[]) AS slot (first, last) CROSS JOIN LATERAL (
    SELECT l.id, l.scheduled_for, l.trigger, l.manual_number, l.attempt,
        CASE WHEN l.token IS NULL THEN 'QUEUED' ELSE 'RUNNING' END AS status, true AS ran
    FROM chronos.live_executions l
    WHERE l.job_id = $1 AND l.id BETWEEN slot.first AND slot.last AND l.trigger NOT IN ('manual', 'notice')
    UNION ALL
    SELECT e.id, e.scheduled_for, e.trigger, e.manual_number, e.attempt, e.status,
        CASE e.status WHEN 'CANCELLED' THEN e.started_at IS NOT NULL WHEN 'SKIPPED' THEN e.reason = 'by_job'
            ELSE true END AS ran
    FROM chronos.job_executions e
    WHERE e.tag = $2 AND e.job_id = $1 AND e.id BETWEEN slot.first AND slot.last
        AND e.trigger NOT IN ('manual', 'notice')
) AS known
