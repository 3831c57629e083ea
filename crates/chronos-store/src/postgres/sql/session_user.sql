-- The user of a session that goes on, if the user is let in.
SELECT u.id, u.name, u.role, u.password_hash, u.generation, u.disabled, u.created_at, u.changed_at
FROM chronos.sessions s JOIN chronos.users u ON u.id = s.user_id
WHERE s.user_id = $1 AND s.id = $2 AND s.expires_at > $3 AND NOT u.disabled
