-- The first execution that waits, at or after a place.
SELECT run_at, id FROM chronos.live_executions
WHERE token IS NULL AND NOT held AND (run_at, id) >= ($1, $2) AND job_id <> ALL ($3)
ORDER BY run_at, id LIMIT 1
