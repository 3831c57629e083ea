-- When a job is due first, before the crowd and in it, each at or after a place.
SELECT side.crowd, first.due_at
FROM unnest($1::boolean[], $2::timestamptz[], $3::uuid[]) AS side (crowd, due_at, id)
CROSS JOIN LATERAL (
    SELECT s.due_at FROM chronos.job_standings s
    WHERE s.crowd = side.crowd AND s.due_at IS NOT NULL AND (s.due_at, s.id) >= (side.due_at, side.id)
        AND s.id <> ALL ($4)
    ORDER BY s.due_at, s.id
    LIMIT 1
) AS first
