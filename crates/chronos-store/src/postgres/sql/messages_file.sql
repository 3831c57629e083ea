-- Numbers the messages of a step from the newest on file, and files them behind it. One that is there already
-- is not filed again.
INSERT INTO chronos.message_events (sequence, event_id, dedupe_key, job_id, created_by, scheduled_for,
    occurred_at, message)
SELECT newest.sequence + n.number, n.event_id, n.dedupe_key, n.job_id, convert_from(n.created_by, 'UTF8'),
    n.scheduled_for, $1::timestamptz, n.message
FROM (SELECT coalesce(max(sequence), 0) AS sequence FROM chronos.message_events) AS newest,
    unnest(ARRAY[$2]::uuid[], ARRAY[$3]::bytea[], ARRAY[$4]::uuid[], ARRAY[$5]::bytea[],
        ARRAY[$6]::timestamptz[], ARRAY[$7]::bytea[])
        WITH ORDINALITY AS n (event_id, dedupe_key, job_id, created_by, scheduled_for, message, number)
ON CONFLICT (dedupe_key) DO NOTHING
