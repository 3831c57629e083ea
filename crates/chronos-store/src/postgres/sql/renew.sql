-- Renews what is still held, in the order of ids, and says of each hold whether it is and who wants it to
-- stop.
WITH holds AS (
    SELECT id, token, place FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS h (id, token, place)
), held AS MATERIALIZED (
    SELECT l.id, l.token FROM chronos.live_executions l
    WHERE l.id = ANY ($1) AND l.token IS NOT NULL
    ORDER BY l.id
    FOR UPDATE
), renewed AS (
    UPDATE chronos.live_executions l
    SET last_heartbeat_at = $3, expires_at = $4,
        reap_at = least($4, l.deadline + ($4::timestamptz - $3::timestamptz))
    WHERE l.id IN (SELECT held.id FROM held JOIN holds USING (id, token))
    RETURNING l.id, l.token, l.cancel
)
SELECT renewed.id IS NOT NULL, renewed.cancel
FROM holds LEFT JOIN renewed USING (id, token)
ORDER BY holds.place
