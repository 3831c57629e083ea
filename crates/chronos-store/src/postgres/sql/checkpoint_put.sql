-- Keeps what the next run is to find.
INSERT INTO chronos.checkpoints (job_id, checkpoint) VALUES ($1, $2)
ON CONFLICT (job_id) DO UPDATE SET checkpoint = excluded.checkpoint
