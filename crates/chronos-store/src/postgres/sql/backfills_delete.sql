-- Forgets some of a job's backfills.
DELETE FROM chronos.backfills WHERE job_id = $1 AND number = ANY ($2)
