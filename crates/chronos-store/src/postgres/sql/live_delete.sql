-- Removes executions that are over.
DELETE FROM chronos.live_executions WHERE id = ANY ($1)
