-- A user by id.
SELECT id, name, role, password_hash, generation, disabled, created_at, changed_at
FROM chronos.users WHERE id = $1
