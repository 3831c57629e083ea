-- What was done about accounts or refused, in the transaction that did it. Users come and go, so none is
-- referred to.
CREATE TABLE chronos.account_events (
    sequence bigint PRIMARY KEY CHECK (sequence >= 1),
    at timestamptz NOT NULL,
    by_user uuid,
    from_address text,
    user_id uuid,
    user_name text,
    what text NOT NULL
);
