-- Adds a backfill.
INSERT INTO chronos.backfills (job_id, number, id, state, next_at, backfill) VALUES ($1, $2, $3, $4, $5, $6::json)
