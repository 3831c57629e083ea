-- Forgets a few requests that came before then.
DELETE FROM chronos.requests WHERE id IN (
    SELECT id FROM chronos.requests WHERE made_at <= $1 ORDER BY made_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
