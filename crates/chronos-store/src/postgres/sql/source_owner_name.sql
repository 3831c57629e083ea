-- Candidates: an owner's jobs whose names begin as asked for. The fence keeps PostgreSQL to the index
-- of names.
SELECT id FROM chronos.job_specs WHERE created_by = $4 AND name >= $5 AND name <= $6 OFFSET 0
