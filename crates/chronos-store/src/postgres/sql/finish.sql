-- Counts runs that succeeded, of jobs of which nothing else lives, if each job is as whoever ended its run takes it
-- to be: by the same spec, not failing, and with a slot to come, or with none for one that is then over. Jobs are
-- locked in the order in which they come. Says which were counted, and when one of them is due first.
WITH n AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::boolean[], $5::timestamptz[],
        $6::double precision[]) WITH ORDINALITY
        AS n (job_id, execution, revision, is_over, started_at, duration_ms, place)
), counted AS (
    UPDATE chronos.job_standings s
    SET enabled = s.enabled AND NOT n.is_over,
        rest = CASE WHEN n.is_over THEN 'SUCCESS' ELSE s.rest END, succeeded = s.succeeded + 1, failed_in_a_row = 0,
        retry_count = 0, last_run_at = n.started_at, last_duration_ms = n.duration_ms, last_error = NULL, live = ''
    FROM n
    WHERE s.id = n.job_id AND s.revision = n.revision AND s.live = uuid_send(n.execution) AND NOT s.deleted
        AND s.failing_since IS NULL AND CASE WHEN n.is_over THEN s.enabled AND s.next_execution_time IS NULL
            ELSE NOT s.enabled OR s.next_execution_time IS NOT NULL END
    RETURNING n.place, s.due_at
)
SELECT ARRAY (SELECT place FROM counted), (SELECT min(due_at) FROM counted)
