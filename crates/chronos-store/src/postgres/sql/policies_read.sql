-- Policies in the order of their ids, after one.
SELECT policy::text FROM chronos.quiet_hours_policies WHERE id > $1 ORDER BY id LIMIT $2
