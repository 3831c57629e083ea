-- The first chapter from one to another that may hold what these bits stand for, from this time to that one.
SELECT chapter FROM chronos.audit_digests d
WHERE chapter >= $1 AND chapter <= $2 AND latest >= $3 AND earliest < $4
    AND NOT EXISTS (SELECT FROM unnest($5::integer[]) AS wanted (bit) WHERE get_bit(d.bits, wanted.bit) = 0)
ORDER BY chapter LIMIT 1
