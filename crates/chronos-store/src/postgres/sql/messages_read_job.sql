-- As messages_read, of one job; of one owner, too, if it is given.
SELECT newest.sequence, e.sequence, e.message
FROM (SELECT coalesce(max(sequence), 0) AS sequence FROM chronos.message_events) AS newest
LEFT JOIN LATERAL (
    SELECT sequence, message FROM chronos.message_events
    WHERE job_id = $3 AND ($4::text IS NULL OR created_by = $4) AND sequence > $1
    ORDER BY sequence LIMIT $2
) AS e ON true
ORDER BY e.sequence
