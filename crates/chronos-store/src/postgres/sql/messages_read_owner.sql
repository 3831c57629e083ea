-- As messages_read, of one owner's jobs.
SELECT newest.sequence, e.sequence, e.message
FROM (SELECT coalesce(max(sequence), 0) AS sequence FROM chronos.message_events) AS newest
LEFT JOIN LATERAL (
    SELECT sequence, message FROM chronos.message_events
    WHERE created_by = $3 AND sequence > $1
    ORDER BY sequence LIMIT $2
) AS e ON true
ORDER BY e.sequence
