-- The oldest and the newest decision on file, and the newest chapter that has a digest.
SELECT coalesce((SELECT first FROM chronos.audit ORDER BY last LIMIT 1), 0),
    coalesce((SELECT last FROM chronos.audit ORDER BY last DESC LIMIT 1), 0),
    coalesce((SELECT chapter FROM chronos.audit_digests ORDER BY chapter DESC LIMIT 1), -1)
