-- Records that hold decisions from one number to another, in order.
SELECT first, last, decisions FROM chronos.audit
WHERE last >= $1 AND last <= (SELECT last FROM chronos.audit WHERE last >= $2 ORDER BY last LIMIT 1)
ORDER BY last LIMIT $3
