-- How many jobs have each status: each is counted at rest, and those of which something is alive are moved.
WITH live AS MATERIALIZED (
    SELECT s.rest, CASE WHEN bool_or(l.token IS NOT NULL) THEN 'RUNNING'
        WHEN bool_or(l.retry_number > 0) THEN 'RETRY_PENDING' ELSE 'PENDING' END AS status
    FROM chronos.live_executions l JOIN chronos.job_standings s ON s.id = l.job_id AND NOT s.deleted
    GROUP BY s.id, s.rest
), resting AS MATERIALIZED (
    SELECT rest, count(*) AS number FROM chronos.job_standings WHERE rest <> 'PENDING' GROUP BY rest
), counted AS (
    SELECT 'PENDING' AS status, count(*) AS number FROM chronos.job_specs
    UNION ALL SELECT 'PENDING', -number FROM resting
    UNION ALL SELECT rest, number FROM resting
    UNION ALL SELECT rest, -1 FROM live
    UNION ALL SELECT status, 1 FROM live
)
SELECT status, sum(number)::bigint FROM counted GROUP BY status
