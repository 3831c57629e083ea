-- Message events after a number, in order; and how far the log goes, as the same snapshot has it.
SELECT newest.sequence, e.sequence, e.message
FROM (SELECT coalesce(max(sequence), 0) AS sequence FROM chronos.message_events) AS newest
LEFT JOIN LATERAL (
    SELECT sequence, message FROM chronos.message_events
    WHERE sequence > $1
    ORDER BY sequence LIMIT $2
) AS e ON true
ORDER BY e.sequence
