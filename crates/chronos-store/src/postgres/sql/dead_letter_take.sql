-- Takes an execution off the dead letters.
UPDATE chronos.job_executions SET dead_letter = false WHERE tag = $2 AND id = $1 AND dead_letter
RETURNING 1
