-- Forgets deleted jobs of which nothing lives.
DELETE FROM chronos.job_standings WHERE id = ANY ($1)
