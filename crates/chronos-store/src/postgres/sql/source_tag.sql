-- Candidates: jobs that are filed under a tag.
SELECT job_id AS id FROM chronos.job_tags WHERE tag = $7
