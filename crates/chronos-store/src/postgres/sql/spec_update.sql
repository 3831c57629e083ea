-- Replaces what a user asked for.
UPDATE chronos.job_specs
SET created_by = $2, name = $3, version = $4, schedule_type = $5, cron_expression = $6, timezone = $7,
    interval_seconds = $8, max_retry = $9, priority = $10, payload = $11, quiet_hours_policy_id = $12,
    spec = $13::json, created_at = $14, updated_at = $15
WHERE id = $1
