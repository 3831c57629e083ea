-- Users in the order of their ids, from after a given one.
SELECT id, name, role, password_hash, generation, disabled, created_at, changed_at
FROM chronos.users WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2
