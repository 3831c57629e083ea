-- Notes what was handed out together.
INSERT INTO chronos.leases (id, reap_at, executions) VALUES ($1, $2, $3)
