-- Endpoints that are told message events, with how far each has come. Steps about one take turns by its row.
CREATE TABLE chronos.subscriptions (
    id uuid PRIMARY KEY,
    created_by text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    subscription json NOT NULL,
    -- Grows with every claim; whoever delivers names it.
    token bigint NOT NULL CHECK (token >= 0),
    -- When somebody may take it; null while there is nothing to do.
    free_at timestamptz,
    CONSTRAINT subscriptions_name_is_unique UNIQUE (created_by, name)
);
CREATE INDEX subscriptions_owner ON chronos.subscriptions (created_by, id);
CREATE INDEX subscriptions_free ON chronos.subscriptions (free_at, id) WHERE free_at IS NOT NULL;
