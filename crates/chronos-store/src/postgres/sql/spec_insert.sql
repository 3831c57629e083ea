-- Adds what a user asked for.
INSERT INTO chronos.job_specs (id, created_by, name, version, schedule_type, cron_expression, timezone,
    interval_seconds, max_retry, priority, payload, quiet_hours_policy_id, spec, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::json, $14, $15)
