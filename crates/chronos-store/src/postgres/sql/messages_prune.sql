-- Forgets those of the oldest message events that are too old; never the newest, from which the next is
-- numbered.
WITH oldest AS MATERIALIZED (
    SELECT sequence, occurred_at FROM chronos.message_events
    WHERE sequence < (SELECT max(sequence) FROM chronos.message_events)
    ORDER BY sequence LIMIT $2
)
DELETE FROM chronos.message_events e USING oldest
WHERE e.sequence = oldest.sequence AND oldest.occurred_at < $1
RETURNING e.sequence
