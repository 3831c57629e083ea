-- What the database's clock shows. The only statement that asks: every decision takes its time as an
-- argument.
SELECT clock_timestamp()
