-- An API key.
SELECT id, user_id, name, digest, scopes, created_at, expires_at, last_used_at
FROM chronos.api_keys WHERE id = $1
