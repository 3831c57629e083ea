-- The newest decisions on file, which were filed at or after this time.
SELECT last, filed_at FROM chronos.audit WHERE filed_at >= $1 ORDER BY last DESC LIMIT 1
