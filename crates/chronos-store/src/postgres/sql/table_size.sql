-- The bytes that a table and its indexes hold; none when there is no such table.
SELECT coalesce(pg_total_relation_size(to_regclass($1)), 0)
