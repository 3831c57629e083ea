-- Numbers the decisions of a step from the newest on file, and files them behind it, never at an earlier time.
-- The newest is looked for from a time on at which there were some, so that one partition is asked.
INSERT INTO chronos.audit (filed_at, first, last, decisions)
SELECT greatest($1::timestamptz, newest.filed_at), coalesce(newest.last, 0) + 1,
    coalesce(newest.last, 0) + $3, $4::bytea
FROM (SELECT) AS step LEFT JOIN LATERAL (
    (SELECT last, filed_at FROM chronos.audit WHERE filed_at >= $2::timestamptz ORDER BY last DESC LIMIT 1)
    UNION ALL
    (SELECT last, filed_at FROM chronos.audit ORDER BY last DESC LIMIT 1)
    LIMIT 1
) AS newest ON true
