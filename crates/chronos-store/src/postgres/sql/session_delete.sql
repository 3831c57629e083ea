-- Ends a session.
DELETE FROM chronos.sessions WHERE user_id = $1 AND id = $2
