-- Deletes executions that are still held and that nobody asked to stop. They are looked up one by one and deleted
-- by their place, because by what PostgreSQL knows of a queue that empties and fills, reading all of it may look
-- cheaper. Whoever calls has locked their jobs, so that nobody takes one away in between.
WITH ended AS (
    DELETE FROM chronos.live_executions l
    WHERE l.cancel IS NULL AND l.token IS NOT NULL AND l.ctid = ANY (ARRAY (
        SELECT held.place FROM unnest($1::uuid[], $2::bigint[]) AS n (id, token)
        CROSS JOIN LATERAL (
            SELECT l.ctid AS place FROM chronos.live_executions l
            WHERE l.id = n.id AND l.token = n.token AND l.cancel IS NULL
            OFFSET 0
        ) AS held
    ))
    RETURNING 1
), over AS (
    DELETE FROM chronos.leases WHERE id = ANY ($3)
)
SELECT count(*) FROM ended
