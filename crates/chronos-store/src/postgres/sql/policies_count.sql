-- How many policies there are.
SELECT count(*) FROM chronos.quiet_hours_policies
