-- What message jobs said, in the order in which everyone hears it. Numbers are given under the lock that
-- numbers decisions, held until the commit, so they become visible in their order. The newest row is never
-- deleted: the next is numbered from it.
CREATE TABLE chronos.message_events (
    sequence bigint PRIMARY KEY CHECK (sequence >= 1),
    event_id uuid NOT NULL,
    -- Of each slot of a job there is one message, whatever happens.
    dedupe_key bytea NOT NULL CHECK (length(dedupe_key) = 32),
    job_id uuid NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    scheduled_for timestamptz NOT NULL,
    occurred_at timestamptz NOT NULL,
    message bytea NOT NULL,
    CONSTRAINT message_events_dedupe_key_is_unique UNIQUE (dedupe_key)
);
CREATE INDEX message_events_job ON chronos.message_events (job_id, sequence);
CREATE INDEX message_events_owner ON chronos.message_events (created_by, sequence);
