-- Files runs that lead to nothing else, of jobs of which nothing else lives: counts each with its job, if the
-- job is as it is known to be, and moves it to the past, if it is still held and nobody asked it to stop. Jobs
-- are locked first, in the order in which they come, then executions in the order of their ids. Those are
-- looked up one by one and deleted by their place, because by what PostgreSQL knows of a queue that empties
-- and fills, reading all of it may look cheaper.
WITH n AS MATERIALIZED (
    SELECT * FROM unnest($3::uuid[], $4::bigint[], $5::uuid[], $6::bigint[], $7::bigint[], $8::text[],
        $9::timestamptz[], $10::timestamptz[], $11::double precision[], $12::integer[], $13::integer[],
        $14::double precision[], $15::bytea[], $16::boolean[], $17::text[])
        AS n (id, token, job_id, changes, succeeded, rest, started_at, finished_at, duration_ms, tag,
            response_code, response_ms, response_body, response_truncated, log)
), counted AS (
    UPDATE chronos.job_standings s
    SET changes = s.changes + 1, rest = n.rest, succeeded = n.succeeded, failed_in_a_row = 0, retry_count = 0,
        last_run_at = n.started_at, last_duration_ms = n.duration_ms, last_error = NULL, live = ''
    FROM n WHERE s.id = n.job_id AND s.changes = n.changes
    RETURNING 1
), found AS MATERIALIZED (
    SELECT held.*, n.tag, n.finished_at, n.duration_ms, n.response_code, n.response_ms, n.response_body,
        n.response_truncated, n.log
    FROM (SELECT * FROM n ORDER BY id LIMIT $2) AS n CROSS JOIN LATERAL (
        SELECT l.ctid AS place, l.id, l.job_id, l.scheduled_for, l.run_at, l.trigger, l.manual_number, l.notice,
            l.attempt, l.retry_number, l.lost, l.priority, l.trace_id, l.overdue_at, l.worker_id, l.token,
            l.started_at
        FROM chronos.live_executions l
        WHERE l.id = n.id AND l.token = n.token AND l.cancel IS NULL
        OFFSET 0
    ) AS held
), ended AS (
    DELETE FROM chronos.live_executions l USING found WHERE l.ctid = found.place
    RETURNING found.*
), filed AS (
    INSERT INTO chronos.job_executions (recorded_at, id, job_id, tag, scheduled_for, run_at, trigger,
        manual_number, notice, attempt, retry_number, lost, priority, trace_id, overdue_at, status, worker_id,
        token, started_at, finished_at, duration_ms, response_code, response_ms, response_body,
        response_truncated, log, dead_letter)
    SELECT $1, id, job_id, tag, scheduled_for, run_at, trigger, manual_number, notice, attempt, retry_number,
        lost, priority, trace_id, overdue_at, 'SUCCESS', worker_id, token, started_at, finished_at, duration_ms,
        response_code, response_ms, response_body, response_truncated, log, false
    FROM ended
    RETURNING 1
)
SELECT (SELECT count(*) FROM counted), (SELECT count(*) FROM filed)
