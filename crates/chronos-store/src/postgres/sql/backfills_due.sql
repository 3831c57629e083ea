-- Jobs, after one, that have backfills which may come to their next slot now.
SELECT DISTINCT job_id FROM chronos.backfills
WHERE next_at <= $1 AND job_id > $2
ORDER BY job_id LIMIT $3
