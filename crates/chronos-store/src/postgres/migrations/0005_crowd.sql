-- Each owner's first jobs go before the crowd: what anybody has beyond them. A job that belongs to nobody is not of
-- the crowd.
ALTER TABLE chronos.job_standings ADD COLUMN crowd boolean NOT NULL DEFAULT false;
UPDATE chronos.job_standings s SET crowd = true, changes = s.changes + 1
FROM (
    SELECT id, row_number() OVER (PARTITION BY created_by ORDER BY id) AS number
    FROM chronos.job_specs WHERE created_by <> ''
) AS spec
WHERE spec.id = s.id AND spec.number > 64;
DROP INDEX chronos.job_standings_due_at;
CREATE INDEX job_standings_due_at ON chronos.job_standings (crowd, due_at, id) WHERE due_at IS NOT NULL;
-- An execution's priority has ten added to it where it waits with the crowd.
ALTER TABLE chronos.live_executions DROP CONSTRAINT live_executions_priority_check;
ALTER TABLE chronos.live_executions ADD CONSTRAINT live_executions_priority_check CHECK (priority BETWEEN 0 AND 19);
