-- Forgets workers that were not seen since then.
DELETE FROM chronos.workers WHERE last_seen < $1
