-- Whether another user is an admin who is let in.
SELECT 1 FROM chronos.users WHERE id <> $1 AND role = 'admin' AND NOT disabled LIMIT 1
