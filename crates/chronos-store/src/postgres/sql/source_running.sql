-- Candidates: jobs of which something runs.
SELECT DISTINCT live.job_id AS id
FROM chronos.leases CROSS JOIN LATERAL unnest(leases.executions) AS member (id)
CROSS JOIN LATERAL (
    SELECT l.job_id FROM chronos.live_executions l
    WHERE l.id = member.id AND l.token IS NOT NULL AND l.notice IS NULL
    OFFSET 0
) AS live
OFFSET 0
