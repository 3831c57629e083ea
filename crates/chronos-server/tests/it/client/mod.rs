//! Commands that ask a daemon, against the real one.

mod auditing;
mod backfills;
mod backup;
mod editing;
mod events;
pub(crate) mod house;
mod identity;
mod jobs;
mod logs;
mod notices;
mod quiet_hours;
mod refusals;
mod runs;
mod secrets;
mod subscriptions;
