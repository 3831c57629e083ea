-- Jobs, what lives of them, what is over, and what was decided.
-- In these files `chronos.` stands for the schema that the configuration names.

-- Names the spec that is in force, so that a node may keep decoded specs in memory.
CREATE SEQUENCE chronos.revisions;

-- Fencing tokens: each larger than every one handed out before it.
CREATE SEQUENCE chronos.tokens;

CREATE TABLE chronos.quiet_hours_policies (
    id uuid PRIMARY KEY,
    policy json NOT NULL
);

-- What users asked for. Written by people, read when a node meets a job for the first time.
CREATE TABLE chronos.job_specs (
    id uuid PRIMARY KEY,
    -- Names are compared letter by letter, whatever the language of the database.
    created_by text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL CHECK (version >= 1),
    schedule_type text NOT NULL,
    recurring boolean GENERATED ALWAYS AS (schedule_type <> 'one_shot') STORED,
    cron_expression text,
    timezone text,
    interval_seconds bigint,
    max_retry integer NOT NULL CHECK (max_retry >= 0),
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    -- The body of an http target, byte for byte; the spec is kept without it.
    payload bytea,
    quiet_hours_policy_id uuid,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    spec json NOT NULL,
    CONSTRAINT job_specs_name_is_unique UNIQUE (created_by, name),
    CONSTRAINT job_specs_policy_exists
        FOREIGN KEY (quiet_hours_policy_id) REFERENCES chronos.quiet_hours_policies (id),
    CONSTRAINT job_specs_schedule CHECK (CASE schedule_type
        WHEN 'one_shot' THEN num_nonnulls(cron_expression, timezone, interval_seconds) = 0
        WHEN 'interval' THEN interval_seconds > 0 AND cron_expression IS NULL
        WHEN 'cron' THEN interval_seconds IS NULL AND num_nulls(cron_expression, timezone) = 0
        ELSE false END)
);
CREATE INDEX job_specs_owner ON chronos.job_specs (created_by, id);
CREATE INDEX job_specs_recurring ON chronos.job_specs (recurring, id);
CREATE INDEX job_specs_name ON chronos.job_specs (name);
CREATE INDEX job_specs_policy ON chronos.job_specs (quiet_hours_policy_id)
    WHERE quiet_hours_policy_id IS NOT NULL;

-- What jobs are filed under.
CREATE TABLE chronos.job_tags (
    tag text COLLATE "C" NOT NULL,
    job_id uuid NOT NULL REFERENCES chronos.job_specs (id) ON DELETE CASCADE,
    PRIMARY KEY (tag, job_id)
);
CREATE INDEX job_tags_job ON chronos.job_tags (job_id);

-- Where jobs stand. Its row is the job's lock: whoever decides about a job holds it. Rewritten with
-- every slot and every run, so it is narrow, and no column that a run changes is indexed.
CREATE TABLE chronos.job_standings (
    id uuid PRIMARY KEY,
    revision bigint NOT NULL,
    -- Grows whenever the row or what lives of the job changes, so that a node may decide by what it knows and
    -- write only if that still holds.
    changes bigint NOT NULL,
    -- A deleted job keeps its lock until its last execution is over.
    deleted boolean NOT NULL,
    enabled boolean NOT NULL,
    -- The job's status while nothing of it waits or runs. What is alive is not written here, because a
    -- claim leaves this row alone.
    rest text NOT NULL,
    max_execution_us bigint,
    due_at timestamptz,
    next_execution_time timestamptz,
    last_slot timestamptz,
    deferred_until timestamptz,
    paused_since timestamptz,
    pause_note text,
    retry_count integer NOT NULL,
    fired bigint NOT NULL,
    manual bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    skipped bigint NOT NULL,
    failed_in_a_row bigint NOT NULL,
    last_run_at timestamptz,
    last_duration_ms double precision,
    last_error text,
    last_skip_at timestamptz,
    last_skip_reason text,
    -- Since when runs have failed for good, and how many did.
    failing_since timestamptz,
    failures integer,
    -- The ids of the executions that wait or run, sixteen bytes each. An index of live executions by
    -- job would hold an entry for every one that ever lived, for as long as any session elsewhere
    -- keeps an old snapshot.
    live bytea NOT NULL,
    CONSTRAINT job_standings_failing CHECK ((failing_since IS NULL) = (failures IS NULL)),
    CONSTRAINT job_standings_rest CHECK (rest IN ('PENDING', 'SUCCESS', 'FAILED', 'DISABLED')),
    CONSTRAINT job_standings_rest_of_deleted CHECK (rest = 'PENDING' OR NOT deleted),
    CONSTRAINT job_standings_due CHECK (due_at IS NULL OR (enabled AND NOT deleted)),
    CONSTRAINT job_standings_live CHECK (length(live) % 16 = 0 AND (live <> '' OR NOT deleted))
) WITH (
    fillfactor = 60,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX job_standings_due_at ON chronos.job_standings (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX job_standings_paused ON chronos.job_standings (id) WHERE paused_since IS NOT NULL;
CREATE INDEX job_standings_rest ON chronos.job_standings (rest, id) WHERE rest <> 'PENDING';
-- Jobs that are not due at their next slot: deferred, or parked.
CREATE INDEX job_standings_off_due ON chronos.job_standings (id)
    WHERE due_at IS DISTINCT FROM next_execution_time;

-- What an execution of a job wants the next one to find.
CREATE TABLE chronos.checkpoints (
    job_id uuid PRIMARY KEY REFERENCES chronos.job_specs (id) ON DELETE CASCADE,
    checkpoint bytea NOT NULL
);

-- Executions that wait or run. A row is written when its slot fires, when a worker takes it, when that
-- worker renews it, and deleted when it is over.
CREATE TABLE chronos.live_executions (
    id uuid PRIMARY KEY,
    job_id uuid NOT NULL,
    scheduled_for timestamptz NOT NULL,
    run_at timestamptz NOT NULL,
    trigger text NOT NULL,
    manual_number bigint,
    -- What it tells about another execution, if it is no run of its job.
    notice text,
    attempt integer NOT NULL,
    retry_number integer NOT NULL,
    lost integer NOT NULL,
    -- The highest goes first.
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    -- The trace of whoever asked for it.
    trace_id uuid,
    -- When it is overdue unless it has begun.
    overdue_at timestamptz,
    -- Waits for an earlier run or for the end of a pause.
    held boolean NOT NULL,
    worker_id text,
    token bigint,
    started_at timestamptz,
    last_heartbeat_at timestamptz,
    expires_at timestamptz,
    deadline timestamptz,
    -- When it is taken from a worker that neither renews nor stops.
    reap_at timestamptz,
    cancel text,
    CONSTRAINT live_executions_notice CHECK ((trigger = 'notice') = (notice IS NOT NULL)),
    CONSTRAINT live_executions_runs_or_waits CHECK (CASE
        WHEN token IS NULL
        THEN num_nonnulls(worker_id, started_at, last_heartbeat_at, expires_at, deadline, reap_at, cancel) = 0
        ELSE NOT held
            AND num_nulls(worker_id, started_at, last_heartbeat_at, expires_at, reap_at) = 0 END)
) WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX live_executions_ready ON chronos.live_executions (priority, run_at, id)
    WHERE token IS NULL AND NOT held;
CREATE INDEX live_executions_retry ON chronos.live_executions (job_id)
    WHERE token IS NULL AND retry_number > 0 AND notice IS NULL;
CREATE INDEX live_executions_overdue_at ON chronos.live_executions (overdue_at, id)
    WHERE token IS NULL AND overdue_at IS NOT NULL;
CREATE INDEX live_executions_reap_at ON chronos.live_executions (reap_at, id)
    WHERE reap_at IS NOT NULL;

-- Executions that are over. Only ever added to, but for a dead letter that is tried again; retention drops
-- whole days.
CREATE TABLE chronos.job_executions (
    recorded_at timestamptz NOT NULL,
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    -- The last bytes of both ids: one index leads to an execution from its own id and from its job's.
    tag integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    run_at timestamptz NOT NULL,
    trigger text NOT NULL,
    manual_number bigint,
    notice text,
    attempt integer NOT NULL,
    retry_number integer NOT NULL,
    lost integer NOT NULL,
    priority smallint NOT NULL,
    trace_id uuid,
    overdue_at timestamptz,
    status text NOT NULL,
    worker_id text,
    token bigint,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    duration_ms double precision,
    response_code integer,
    response_ms double precision,
    response_body bytea,
    response_truncated boolean,
    error text,
    retryable boolean,
    retry_after_ms double precision,
    reason text,
    note text,
    log text,
    dead_letter boolean NOT NULL,
    CONSTRAINT job_executions_status
        CHECK (status IN ('SUCCESS', 'FAILED', 'TIMED_OUT', 'STUCK', 'CANCELLED', 'SKIPPED'))
) PARTITION BY RANGE (recorded_at);
CREATE INDEX job_executions_tag ON chronos.job_executions (tag, id);
CREATE INDEX job_executions_dead_letter ON chronos.job_executions (id) WHERE dead_letter;

-- What was decided: one row for each step, with all its decisions. Rows are filed in the order of their
-- numbers and never at an earlier time than the one before, so the newest is in the newest partition.
CREATE TABLE chronos.audit (
    filed_at timestamptz NOT NULL,
    first bigint NOT NULL CHECK (first >= 1),
    last bigint NOT NULL,
    decisions bytea NOT NULL,
    CHECK (first <= last)
) PARTITION BY RANGE (filed_at);
ALTER TABLE chronos.audit ALTER COLUMN decisions SET STORAGE EXTERNAL;
CREATE INDEX audit_last ON chronos.audit (last);

-- Requests that came with a key, so that the same one is known again for a day.
CREATE TABLE chronos.requests (
    id uuid PRIMARY KEY,
    digest uuid NOT NULL,
    made_at timestamptz NOT NULL,
    job_id uuid,
    execution_id uuid,
    CHECK (num_nonnulls(job_id, execution_id) = 1)
);
CREATE INDEX requests_made_at ON chronos.requests (made_at);

-- Workers as they last described themselves. For display alone: nothing is decided by it.
CREATE TABLE chronos.workers (
    id text PRIMARY KEY,
    host text NOT NULL,
    version text NOT NULL,
    roles text[] NOT NULL,
    started_at timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    capacity bigint NOT NULL,
    running bigint NOT NULL
) WITH (fillfactor = 50);

-- Whoever may ask for something.
CREATE TABLE chronos.users (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    -- What all spellings of the name have in common.
    name_key text COLLATE "C" NOT NULL CONSTRAINT users_name_is_unique UNIQUE,
    role text NOT NULL CHECK (role IN ('user', 'viewer', 'admin')),
    password_hash text NOT NULL,
    generation bigint NOT NULL,
    disabled boolean NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);

-- Logins that go on, each by a refresh token that is good once.
CREATE TABLE chronos.sessions (
    user_id uuid NOT NULL REFERENCES chronos.users (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    opened_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);

CREATE TABLE chronos.api_keys (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES chronos.users (id) ON DELETE CASCADE,
    name text NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_keys_user ON chronos.api_keys (user_id, id);

-- How often somebody tried to get in, by the windows in which that is counted.
CREATE TABLE chronos.attempts (
    window_end timestamptz NOT NULL,
    id uuid NOT NULL,
    tries integer NOT NULL,
    PRIMARY KEY (window_end, id)
);

-- For people: jobs with everything that is known of them.
CREATE VIEW chronos.jobs AS
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
    p.quiet_hours_policy_id, p.payload, p.spec, p.version, p.created_at, p.updated_at
FROM chronos.job_standings s JOIN chronos.job_specs p ON p.id = s.id;

-- For people: every execution, whether it waits, runs or is over.
CREATE VIEW chronos.executions AS
SELECT id, job_id, scheduled_for, run_at, CASE WHEN token IS NULL THEN 'QUEUED' ELSE 'RUNNING' END AS status,
    trigger, attempt, retry_number, priority, worker_id, started_at, NULL::timestamptz AS finished_at,
    last_heartbeat_at, NULL::double precision AS duration_ms, NULL::integer AS response_code,
    NULL::text AS error, cancel AS reason, NULL::text AS log
FROM chronos.live_executions
UNION ALL
SELECT id, job_id, scheduled_for, run_at, status, trigger, attempt, retry_number, priority, worker_id,
    started_at, finished_at, NULL, duration_ms, response_code, error, coalesce(note, reason), log
FROM chronos.job_executions;

-- For people: the last execution of every slot that failed for good.
CREATE VIEW chronos.dead_letters AS
SELECT id, job_id, scheduled_for, status, attempt, retry_number, worker_id, started_at, finished_at,
    duration_ms, response_code, error, log
FROM chronos.job_executions WHERE dead_letter;
