//! The gRPC service: each method reads the request, calls a verb and maps the answer.

mod backfills;
mod backup;
mod changes;
mod convert;
mod events;
mod history;
mod page;
mod refusal;
mod scheduler;
mod service;
mod watch;

pub(crate) use changes::Changes;
pub(crate) use history::HistoryService;
pub(crate) use scheduler::Scheduler;

/// In the metadata of an answer, says that there is more than it holds.
pub(crate) const TRUNCATED: &str = "chronos-truncated";
