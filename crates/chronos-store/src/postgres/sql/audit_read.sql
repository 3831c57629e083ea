-- Decisions after a number, in order.
SELECT first, last, decisions FROM chronos.audit WHERE last > $1 ORDER BY last LIMIT $2
