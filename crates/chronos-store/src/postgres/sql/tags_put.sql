-- Files a job under its tags.
INSERT INTO chronos.job_tags (tag, job_id) SELECT tag, $1 FROM unnest($2::text[]) AS tag
