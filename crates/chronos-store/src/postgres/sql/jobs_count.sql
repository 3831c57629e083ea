-- How many jobs have each status: each is counted at rest, and those of which something is alive are moved.
-- Where counting all of them would take long, PostgreSQL's own estimate serves.
WITH guess AS (
    SELECT reltuples AS jobs FROM pg_class WHERE oid = 'chronos.job_standings'::regclass
), of_job AS MATERIALIZED (
    SELECT l.job_id, CASE WHEN bool_or(l.token IS NOT NULL) THEN 'RUNNING'
        WHEN bool_or(l.retry_number > 0) THEN 'RETRY_PENDING' ELSE 'PENDING' END AS status
    FROM chronos.live_executions l WHERE l.notice IS NULL GROUP BY l.job_id
), live AS MATERIALIZED (
    -- The fence keeps PostgreSQL from going through all jobs.
    SELECT job.rest, of_job.status FROM of_job CROSS JOIN LATERAL (
        SELECT s.rest FROM chronos.job_standings s WHERE s.id = of_job.job_id AND NOT s.deleted OFFSET 0
    ) AS job
), resting AS MATERIALIZED (
    SELECT rest, count(*) AS number FROM chronos.job_standings WHERE rest <> 'PENDING' GROUP BY rest
), counted AS (
    SELECT 'PENDING' AS status, CASE WHEN guess.jobs > 200000 THEN guess.jobs::bigint
        ELSE (SELECT count(*) FROM chronos.job_specs) END AS number
    FROM guess
    UNION ALL SELECT 'PENDING', -number FROM resting
    UNION ALL SELECT rest, number FROM resting
    UNION ALL SELECT rest, -1 FROM live
    UNION ALL SELECT status, 1 FROM live
)
SELECT status, sum(number)::bigint FROM counted GROUP BY status
