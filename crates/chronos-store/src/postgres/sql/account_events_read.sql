-- What was done about accounts, newest first, from before a given one.
SELECT sequence, at, by_user, from_address, user_id, user_name, what
FROM chronos.account_events
WHERE $1::bigint IS NULL OR sequence < $1
ORDER BY sequence DESC
LIMIT $2
