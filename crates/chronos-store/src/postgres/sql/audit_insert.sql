-- Files the decisions of a step behind those of the step before.
INSERT INTO chronos.audit (filed_at, first, last, decisions)
VALUES ($1, $2, $3, $4)
