-- How many subscriptions there are, and how many of one owner.
SELECT (SELECT count(*) FROM chronos.subscriptions),
    (SELECT count(*) FROM chronos.subscriptions WHERE created_by = $1)
