-- The job of an execution, and whether the execution is alive; nothing when there is no such execution.
SELECT job_id, true FROM chronos.live_executions WHERE id = $1
UNION ALL
SELECT job_id, false FROM chronos.job_executions WHERE tag = $2 AND id = $1
LIMIT 1
