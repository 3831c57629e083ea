-- One backfill of a job that the step has locked.
SELECT backfill::text FROM chronos.backfills WHERE job_id = $1 AND number = $2 FOR UPDATE
