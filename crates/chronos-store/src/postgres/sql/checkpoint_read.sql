-- What an execution of the job kept last.
SELECT checkpoint FROM chronos.checkpoints WHERE job_id = $1
