-- Workers that were seen since then, in the order of the bytes of their ids.
SELECT id, host, version, roles, started_at, last_seen, capacity, running
FROM chronos.workers WHERE last_seen >= $1
ORDER BY id COLLATE "C"
