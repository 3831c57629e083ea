-- The backfills of jobs which the step has locked that may come to their next slot now.
SELECT backfill::text FROM chronos.backfills
WHERE job_id = ANY ($1) AND next_at <= $2
ORDER BY job_id, number
FOR UPDATE
