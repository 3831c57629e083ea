-- Numbers what was done about an account from the newest on file, and files it behind it; the oldest go.
WITH newest AS (
    SELECT coalesce(max(sequence), 0) AS sequence FROM chronos.account_events
), oldest AS (
    DELETE FROM chronos.account_events
    WHERE sequence <= (SELECT sequence FROM newest) + cardinality($6::text[]) - $7::bigint
)
INSERT INTO chronos.account_events (sequence, at, by_user, from_address, user_id, user_name, what)
SELECT newest.sequence + done.number, $1::timestamptz, $2::uuid, $3::text, $4::uuid, $5::text, done.what
FROM newest, unnest($6::text[]) WITH ORDINALITY AS done (what, number)
