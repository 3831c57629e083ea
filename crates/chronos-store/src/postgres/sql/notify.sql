-- Tells the other nodes.
SELECT pg_notify($1, $2)
