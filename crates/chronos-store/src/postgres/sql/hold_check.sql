-- Whether a hold is good, once its job is locked.
SELECT 1 FROM chronos.live_executions WHERE id = $1 AND token = $2
