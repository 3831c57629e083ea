//! When a job is due: the slots of cron expressions, intervals and one-time instants.

pub mod cron;
mod zone;

pub use cron::{Cron, CronError};
pub use zone::{UnknownZone, Zone};
