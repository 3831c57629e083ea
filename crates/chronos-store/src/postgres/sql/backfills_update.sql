-- Keeps backfills as they are now.
UPDATE chronos.backfills b SET state = n.state, next_at = n.next_at, backfill = n.backfill::json
FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::timestamptz[], $5::text[])
    AS n (job_id, number, state, next_at, backfill)
WHERE b.job_id = n.job_id AND b.number = n.number
