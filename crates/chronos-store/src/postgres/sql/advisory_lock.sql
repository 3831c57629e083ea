-- Lets one step at a time go on from here to its commit. A row that all of them update would do the same,
-- and leave a dead version behind with every step.
SELECT pg_advisory_xact_lock($1)
