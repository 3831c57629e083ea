-- Executions that are to be taken from their workers, those that are longest overdue first.
SELECT id FROM chronos.live_executions
WHERE reap_at IS NOT NULL AND (reap_at, id) >= ($1, $2) AND reap_at <= $3 AND job_id <> ALL ($4)
ORDER BY reap_at, id
LIMIT $5
