-- The specs of jobs that this node does not know yet, each with the revision that names it.
SELECT p.id, s.revision, p.spec::text, p.payload
FROM chronos.job_specs p JOIN chronos.job_standings s ON s.id = p.id
WHERE p.id = ANY ($1)
