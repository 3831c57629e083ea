-- Puts the next refresh token in the place of the one before.
UPDATE chronos.sessions SET digest = $3 WHERE user_id = $1 AND id = $2
