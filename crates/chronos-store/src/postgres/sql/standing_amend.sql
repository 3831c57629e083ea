-- Says that another spec is in force.
UPDATE chronos.job_standings SET revision = nextval('chronos.revisions'),
    max_execution_us = $2
WHERE id = $1
RETURNING revision
