-- A job's backfills, newest first, before one.
SELECT backfill::text FROM chronos.backfills WHERE job_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3
