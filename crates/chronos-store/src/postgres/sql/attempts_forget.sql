-- Forgets some tries in windows that are over.
DELETE FROM chronos.attempts WHERE (window_end, id) IN (
    SELECT window_end, id FROM chronos.attempts WHERE window_end <= $1 LIMIT $2)
