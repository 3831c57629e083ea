-- Quiet-hours policies with names, owners and versions, and pauses that end by themselves.

-- Which name each policy has; everything else about it is in its JSON.
ALTER TABLE chronos.quiet_hours_policies ADD COLUMN name text COLLATE "C";
UPDATE chronos.quiet_hours_policies p SET
    name = (p.policy ->> 'name') || CASE WHEN EXISTS (
        SELECT 1 FROM chronos.quiet_hours_policies o
        WHERE o.policy ->> 'name' = p.policy ->> 'name' AND o.id < p.id) THEN ' ' || p.id ELSE '' END;
UPDATE chronos.quiet_hours_policies SET policy = (policy::jsonb || jsonb_build_object(
    'name', name, 'owner', '', 'exceptions', '{}'::jsonb, 'version', 1,
    'created_at', '1970-01-01T00:00:00Z', 'updated_at', '1970-01-01T00:00:00Z'))::json;
ALTER TABLE chronos.quiet_hours_policies ALTER COLUMN name SET NOT NULL;
ALTER TABLE chronos.quiet_hours_policies
    ADD CONSTRAINT quiet_hours_policies_name_is_unique UNIQUE (name);

-- When a paused job resumes by itself. One that is switched off does so, too: what of it waits must go on.
ALTER TABLE chronos.job_standings ADD COLUMN resume_at timestamptz;
ALTER TABLE chronos.job_standings
    DROP CONSTRAINT job_standings_due,
    ADD CONSTRAINT job_standings_due
        CHECK (due_at IS NULL OR ((enabled OR resume_at IS NOT NULL) AND NOT deleted)),
    ADD CONSTRAINT job_standings_pause CHECK (resume_at IS NULL OR paused_since IS NOT NULL);

-- For people: jobs with everything that is known of them.
CREATE OR REPLACE VIEW chronos.jobs AS
SELECT s.id, p.name, p.created_by,
    ARRAY(SELECT t.tag FROM chronos.job_tags t WHERE t.job_id = s.id ORDER BY t.tag) AS tags,
    CASE WHEN s.live = '' THEN s.rest ELSE (
        SELECT CASE WHEN bool_and(l.notice IS NOT NULL) THEN s.rest
            WHEN bool_or(l.token IS NOT NULL AND l.notice IS NULL) THEN 'RUNNING'
            WHEN bool_or(l.retry_number > 0 AND l.notice IS NULL) THEN 'RETRY_PENDING' ELSE 'PENDING' END
        FROM generate_series(0, length(s.live) / 16 - 1) AS place
        JOIN chronos.live_executions l
            ON l.id = encode(substring(s.live FROM place * 16 + 1 FOR 16), 'hex')::uuid
    ) END AS status,
    s.enabled, s.paused_since IS NOT NULL AS paused, s.paused_since, s.pause_note,
    p.recurring AS is_recurring, p.schedule_type, p.interval_seconds,
    p.cron_expression, p.timezone, p.priority, s.next_execution_time, s.deferred_until, s.last_slot,
    s.retry_count, p.max_retry, s.max_execution_us / 1000000 AS max_execution_time,
    s.last_run_at, s.last_duration_ms, s.last_error, s.last_skip_at, s.last_skip_reason,
    s.fired, s.manual, s.succeeded, s.failed, s.skipped, s.failed_in_a_row,
    p.quiet_hours_policy_id, p.payload, p.spec, p.version, p.created_at, p.updated_at, s.resume_at
FROM chronos.job_standings s JOIN chronos.job_specs p ON p.id = s.id;

-- For people: every execution, whether it waits, runs or is over.
CREATE OR REPLACE VIEW chronos.executions AS
SELECT id, job_id, scheduled_for, run_at, CASE WHEN token IS NULL THEN 'QUEUED' ELSE 'RUNNING' END AS status,
    trigger, attempt, retry_number, priority, worker_id, started_at, NULL::timestamptz AS finished_at,
    last_heartbeat_at, NULL::double precision AS duration_ms, NULL::integer AS response_code,
    NULL::text AS error, cancel AS reason, NULL::text AS log
FROM chronos.live_executions
UNION ALL
SELECT id, job_id, scheduled_for, run_at, status, trigger, attempt, retry_number, priority, worker_id,
    started_at, finished_at, NULL, duration_ms, response_code, error, CASE WHEN reason = 'paused' AND note IS NOT NULL THEN 'paused: ' || note ELSE coalesce(note, reason) END, log
FROM chronos.job_executions;
