-- A session that goes on, for whoever puts its next token in place.
SELECT s.digest, s.opened_at, s.expires_at FROM chronos.sessions s
WHERE s.user_id = $1 AND s.id = $2 AND s.expires_at > $3 FOR UPDATE
