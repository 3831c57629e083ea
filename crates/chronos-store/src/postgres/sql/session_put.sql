-- Begins a session.
INSERT INTO chronos.sessions (user_id, id, digest, opened_at, expires_at) VALUES ($1, $2, $3, $4, $5)
