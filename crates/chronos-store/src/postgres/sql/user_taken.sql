-- Whether another user has this id or this name, in any spelling.
SELECT 1 FROM chronos.users WHERE id = $1 OR name_key = $2
