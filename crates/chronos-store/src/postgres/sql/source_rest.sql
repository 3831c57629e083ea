-- Candidates: jobs that have a status at rest.
SELECT id FROM chronos.job_standings WHERE rest = $8 AND rest <> 'PENDING'
