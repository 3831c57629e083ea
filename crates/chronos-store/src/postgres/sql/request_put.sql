-- Remembers what a request made, in the place of one that is forgotten.
INSERT INTO chronos.requests (id, digest, made_at, job_id, execution_id) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE
SET digest = excluded.digest, made_at = excluded.made_at, job_id = excluded.job_id,
    execution_id = excluded.execution_id
