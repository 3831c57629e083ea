-- Removes a user, and with the user all sessions and keys.
DELETE FROM chronos.users WHERE id = $1
