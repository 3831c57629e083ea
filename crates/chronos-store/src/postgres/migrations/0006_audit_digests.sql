-- What may be in a chapter of the decisions, so that whoever looks for something reads few chapters. Written by
-- any node once a chapter is full, and deleted with the last of its decisions. A row fits into a page, and its
-- bits stay in it as they are.
CREATE TABLE chronos.audit_digests (
    chapter bigint PRIMARY KEY CHECK (chapter >= 0),
    earliest timestamptz NOT NULL,
    latest timestamptz NOT NULL,
    bits bytea NOT NULL
);
ALTER TABLE chronos.audit_digests ALTER COLUMN bits SET STORAGE PLAIN;
