-- What jobs are, of those that are there.
SELECT p.spec::text, p.payload FROM chronos.job_specs p WHERE p.id = ANY ($1) ORDER BY p.id
