-- One backfill.
SELECT backfill::text FROM chronos.backfills WHERE id = $1
