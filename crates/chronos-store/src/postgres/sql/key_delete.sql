-- Ends an API key of a user.
DELETE FROM chronos.api_keys WHERE user_id = $1 AND id = $2
