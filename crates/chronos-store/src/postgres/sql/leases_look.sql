-- Looks at those leases first of which one may have run out by a time, from another time on. Forgets what of each is
-- over or waits again, and notes when what is left runs out; what is set aside is looked at later. Says how many were
-- looked at, up to what time, when the first runs out of what they hold, and what has run out, oldest first.
WITH lease AS MATERIALIZED (
    SELECT id, reap_at, executions FROM chronos.leases
    WHERE reap_at >= $1 AND reap_at <= $2
    ORDER BY reap_at, id
    LIMIT $3
    FOR UPDATE
), held AS MATERIALIZED (
    SELECT lease.id AS lease, lease.reap_at AS known, cardinality(lease.executions) AS size, live.id,
        CASE WHEN live.job_id <> ALL ($5) THEN live.reap_at END AS reap_at
    FROM lease CROSS JOIN LATERAL unnest(lease.executions) AS member (id)
    CROSS JOIN LATERAL (
        SELECT l.id, l.job_id, l.reap_at FROM chronos.live_executions l
        WHERE l.id = member.id AND l.token IS NOT NULL
        OFFSET 0
    ) AS live
), kept AS MATERIALIZED (
    SELECT lease, known, size, min(coalesce(reap_at, $6)) AS reap_at, array_agg(id) AS executions
    FROM held GROUP BY lease, known, size
), moved AS (
    UPDATE chronos.leases l SET reap_at = kept.reap_at, executions = kept.executions
    FROM kept
    WHERE l.id = kept.lease AND (kept.known, kept.size) <> (kept.reap_at, cardinality(kept.executions))
), over AS (
    DELETE FROM chronos.leases
    WHERE id = ANY (ARRAY (SELECT lease.id FROM lease WHERE lease.id NOT IN (SELECT kept.lease FROM kept)))
)
SELECT (SELECT count(*) FROM lease), (SELECT max(reap_at) FROM lease), (SELECT min(reap_at) FROM held),
    ARRAY (SELECT id FROM held WHERE reap_at <= $4 GROUP BY reap_at, id ORDER BY reap_at, id)
