-- How many candidates a source has, up to a bound.
SELECT count(*) FROM (SELECT FROM (chronos_source) AS candidate LIMIT $3) AS counted
