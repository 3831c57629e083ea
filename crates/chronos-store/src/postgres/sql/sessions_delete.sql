-- Ends all sessions of a user.
DELETE FROM chronos.sessions WHERE user_id = $1
