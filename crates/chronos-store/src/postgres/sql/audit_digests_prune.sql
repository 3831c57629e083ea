-- Deletes digests of chapters before this one.
DELETE FROM chronos.audit_digests WHERE chapter < $1
