-- Forgets the tries of these in the windows that end then.
DELETE FROM chronos.attempts a USING unnest($1::uuid[], $2::timestamptz[]) AS s (id, window_end)
WHERE a.window_end = s.window_end AND a.id = s.id
