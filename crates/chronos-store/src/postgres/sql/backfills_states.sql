-- The numbers of a job's backfills, oldest first, and whether each is over.
SELECT number, state IN ('finished', 'cancelled') FROM chronos.backfills WHERE job_id = $1 ORDER BY number
