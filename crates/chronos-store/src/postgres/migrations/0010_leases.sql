-- A claim changes nothing that is indexed, so that it leaves every index alone and the new version of a row lies
-- beside the old one. Executions that run stay in the queue's index until they are over; a claim begins behind them.

-- What a worker must know of the job: which spec is in force, and how long a run may take.
ALTER TABLE chronos.live_executions
    ADD COLUMN revision bigint NOT NULL DEFAULT 0,
    ADD COLUMN limit_us bigint;
UPDATE chronos.live_executions l
SET revision = s.revision, limit_us = CASE WHEN l.notice IS NULL THEN s.max_execution_us ELSE 120000000 END
FROM chronos.job_standings s WHERE s.id = l.job_id;
-- Half of a page is left to what its rows become when they are claimed.
ALTER TABLE chronos.live_executions SET (fillfactor = 40);

DROP INDEX chronos.live_executions_ready;
CREATE INDEX live_executions_ready ON chronos.live_executions (priority, run_at, id) WHERE NOT held;
DROP INDEX chronos.live_executions_retry;
CREATE INDEX live_executions_retry ON chronos.live_executions (job_id) WHERE retry_number > 0 AND notice IS NULL;
DROP INDEX chronos.live_executions_overdue_at;
CREATE INDEX live_executions_overdue_at ON chronos.live_executions (overdue_at, id) WHERE overdue_at IS NOT NULL;
DROP INDEX chronos.live_executions_reap_at;

-- What was claimed together: one row tells where to look for leases that have run out.
CREATE TABLE chronos.leases (
    -- The first of their tokens.
    id bigint PRIMARY KEY,
    -- None of them is to be taken from its worker earlier.
    reap_at timestamptz NOT NULL,
    -- Some of them may be over.
    executions uuid[] NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE chronos.leases ALTER COLUMN executions SET STORAGE EXTERNAL;
CREATE INDEX leases_reap_at ON chronos.leases (reap_at, id);
INSERT INTO chronos.leases (id, reap_at, executions)
SELECT min(token), min(reap_at), array_agg(id) FROM chronos.live_executions WHERE token IS NOT NULL
HAVING count(*) > 0;

-- What a run's end takes for granted is looked at itself.
ALTER TABLE chronos.job_standings DROP COLUMN changes;
