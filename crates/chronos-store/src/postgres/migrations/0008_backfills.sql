-- Ranges of past slots that fire after all. Whoever changes one holds the lock of its job.
CREATE TABLE chronos.backfills (
    job_id uuid NOT NULL REFERENCES chronos.job_specs (id) ON DELETE CASCADE,
    -- Counts the job's backfills; their runs name it.
    number bigint NOT NULL CHECK (number >= 1),
    id uuid NOT NULL CONSTRAINT backfills_id_is_unique UNIQUE,
    state text NOT NULL CHECK (state IN ('running', 'paused', 'finished', 'cancelled')),
    -- When it comes to its next slot at the earliest; null while it comes to none.
    next_at timestamptz CHECK (next_at IS NULL OR state = 'running'),
    backfill json NOT NULL,
    PRIMARY KEY (job_id, number)
);
CREATE INDEX backfills_going_on ON chronos.backfills (job_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX backfills_next ON chronos.backfills (next_at) WHERE next_at IS NOT NULL;
