-- The API keys of a user.
SELECT id, user_id, name, digest, scopes, created_at, expires_at, last_used_at
FROM chronos.api_keys WHERE user_id = $1 ORDER BY id
