-- Candidates: jobs of one slot, or of more.
SELECT id FROM chronos.job_specs WHERE recurring = $10
