-- A job's backfills that are not over.
SELECT backfill::text FROM chronos.backfills
WHERE job_id = $1 AND state IN ('running', 'paused')
ORDER BY number
FOR UPDATE
