-- How often each of these tried, in the windows that end then.
SELECT coalesce(a.tries, 0)
FROM unnest($1::uuid[], $2::timestamptz[]) WITH ORDINALITY AS s (id, window_end, place)
LEFT JOIN chronos.attempts a ON a.window_end = s.window_end AND a.id = s.id
ORDER BY s.place
