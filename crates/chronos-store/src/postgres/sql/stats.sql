-- Figures: exact while they are small, and PostgreSQL's own estimate where counting would take long.
WITH guess AS (
    SELECT (SELECT reltuples FROM pg_class WHERE oid = 'chronos.job_standings'::regclass) AS jobs,
        (SELECT reltuples FROM pg_class WHERE oid = 'chronos.live_executions'::regclass) AS live
), running AS (
    SELECT count(DISTINCT live.id) AS number
    FROM chronos.leases CROSS JOIN LATERAL unnest(leases.executions) AS member (id)
    CROSS JOIN LATERAL (
        SELECT l.id FROM chronos.live_executions l WHERE l.id = member.id AND l.token IS NOT NULL OFFSET 0
    ) AS live
)
SELECT
    CASE WHEN guess.jobs > 200000 THEN guess.jobs::bigint
        ELSE (SELECT count(*) FROM chronos.job_standings WHERE NOT deleted) END,
    (SELECT count(*) FROM chronos.job_standings WHERE paused_since IS NOT NULL AND NOT deleted),
    CASE WHEN guess.live > 200000 THEN greatest(guess.live::bigint - running.number, 0)
        ELSE (SELECT count(*) FROM chronos.live_executions WHERE token IS NULL) END,
    running.number,
    (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind = 'r')
FROM guess, running
