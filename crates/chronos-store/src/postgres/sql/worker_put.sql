-- Says that a worker is there and how it is.
INSERT INTO chronos.workers (id, host, version, roles, started_at, last_seen, capacity, running)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE
SET host = excluded.host, version = excluded.version, roles = excluded.roles,
    started_at = excluded.started_at, last_seen = excluded.last_seen, capacity = excluded.capacity,
    running = excluded.running
