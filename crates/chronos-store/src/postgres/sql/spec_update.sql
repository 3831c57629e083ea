-- Replaces what a user asked for.
UPDATE chronos.job_specs
SET created_by = $2, name = $3, version = $4, schedule_type = $5, cron_expression = $6, timezone = $7,
    interval_seconds = $8, max_retry = $9, payload = $10, quiet_hours_policy_id = $11, spec = $12::json,
    created_at = $13, updated_at = $14
WHERE id = $1
