-- Candidates: jobs whose names begin as asked for. The fence keeps PostgreSQL to the index of names.
SELECT id FROM chronos.job_specs WHERE name >= $5 AND name <= $6 OFFSET 0
