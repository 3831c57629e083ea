-- Changes a user.
UPDATE chronos.users SET role = $2, password_hash = $3, generation = $4, disabled = $5, changed_at = $6
WHERE id = $1
