-- Says of executions that wait or run that another spec of their job is in force.
UPDATE chronos.live_executions
SET revision = $2, limit_us = CASE WHEN notice IS NULL THEN $3 ELSE limit_us END
WHERE id = ANY ($1)
