-- Ends the sessions of a user that have expired, and the oldest past as many as there may be beside a new one.
DELETE FROM chronos.sessions WHERE user_id = $1 AND (expires_at <= $2 OR id IN (
    SELECT id FROM chronos.sessions WHERE user_id = $1 ORDER BY opened_at DESC, id DESC OFFSET $3))
