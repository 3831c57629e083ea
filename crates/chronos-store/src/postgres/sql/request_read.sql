-- What a request made, if it came since then.
SELECT digest, job_id, execution_id FROM chronos.requests WHERE id = $1 AND made_at > $2
