-- The first job that is due, at or after a place.
SELECT due_at, id FROM chronos.job_standings
WHERE due_at IS NOT NULL AND (due_at, id) >= ($1, $2) AND id <> ALL ($3)
ORDER BY due_at, id LIMIT 1
