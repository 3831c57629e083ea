-- The last of the candidates that one search looks at; nothing when it looks at all of them.
SELECT candidate.id FROM (chronos_source) AS candidate
WHERE candidate.id > $1
ORDER BY candidate.id
OFFSET $3 LIMIT 1
