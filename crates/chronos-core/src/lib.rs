//! The domain of Chronos, pure: every decision is a function of its arguments.
//!
//! Nothing here reads a clock, rolls dice, waits or touches a disk. Time comes in as a
//! [`Timestamp`], chance comes in as a hash of what it is for, and what should happen comes out as
//! a value that a store applies in one atomic step.

pub mod account;
pub mod audit;
pub mod backfill;
mod chance;
mod error;
pub mod execution;
pub mod explain;
pub mod http;
mod id;
pub mod job;
pub mod message;
pub mod notice;
pub mod plan;
pub mod policy;
pub mod schedule;
pub mod store;
pub mod subscription;
mod time;
mod trace;

pub use backfill::Backfill;
pub use error::Error;
pub use execution::Execution;
pub use http::Http;
pub use id::{
    BackfillId, ExecutionId, JobId, KeyId, PolicyId, SessionId, SubscriptionId, UserId, WorkerId,
};
pub use job::{Job, JobSpec, Standing};
pub use message::{Message, MessageEvent};
pub use plan::{Live, Plan, plan};
pub use schedule::Schedule;
pub use store::Store;
pub use subscription::Subscription;
pub use time::Timestamp;
pub use trace::TraceId;
