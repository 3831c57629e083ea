-- Adds an API key.
INSERT INTO chronos.api_keys (id, user_id, name, digest, scopes, created_at, expires_at, last_used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
