-- When a backfill comes to its next slot that does not yet.
SELECT min(next_at) FROM chronos.backfills WHERE next_at > $1
