-- When the first backfill comes to its next slot.
SELECT min(next_at) FROM chronos.backfills WHERE next_at IS NOT NULL
