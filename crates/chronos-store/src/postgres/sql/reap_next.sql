-- The first running execution that is to be taken from its worker, at or after a place.
SELECT reap_at, id FROM chronos.live_executions
WHERE reap_at IS NOT NULL AND (reap_at, id) >= ($1, $2) AND job_id <> ALL ($3)
ORDER BY reap_at, id LIMIT 1
