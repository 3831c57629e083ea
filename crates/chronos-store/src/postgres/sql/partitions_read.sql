-- The names of a table's partitions.
SELECT c.relname::text
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass($1)
ORDER BY c.relname
