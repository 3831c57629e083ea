-- Notes that an API key was used.
UPDATE chronos.api_keys SET last_used_at = $2 WHERE id = $1
