-- Locks the job of a hold that is good; says whether the job was deleted.
SELECT s.id, s.deleted
FROM chronos.live_executions l JOIN chronos.job_standings s ON s.id = l.job_id
WHERE l.id = $1 AND l.token = $2
FOR UPDATE OF s
