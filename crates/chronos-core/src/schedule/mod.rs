//! When a job is due: the slots of cron expressions, intervals and one-time instants.

