-- Files the digest of a chapter; another node may have filed the same.
INSERT INTO chronos.audit_digests (chapter, earliest, latest, bits) VALUES ($1, $2, $3, $4)
ON CONFLICT (chapter) DO NOTHING
