-- Whether a table is there.
SELECT 1 WHERE to_regclass($1) IS NOT NULL
