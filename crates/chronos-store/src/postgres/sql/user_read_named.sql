-- A user by name, in any spelling.
SELECT id, name, role, password_hash, generation, disabled, created_at, changed_at
FROM chronos.users WHERE name_key = $1
