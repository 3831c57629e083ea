-- Adds a user.
INSERT INTO chronos.users (id, name, name_key, role, password_hash, generation, disabled, created_at, changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
