-- Counts one more try of each.
INSERT INTO chronos.attempts (id, window_end, tries)
SELECT id, window_end, 1 FROM unnest($1::uuid[], $2::timestamptz[]) AS s (id, window_end)
ON CONFLICT (window_end, id) DO UPDATE SET tries = attempts.tries + 1
