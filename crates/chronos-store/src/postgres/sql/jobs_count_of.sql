-- How many jobs an owner has.
SELECT count(*) FROM chronos.job_specs WHERE created_by = $1
