//! What keeps a store from doing what it was asked.

use crate::{BackfillId, ExecutionId, JobId, PolicyId};

/// The jobs that observe a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observers {
    /// How many there are.
    pub count: u64,
    /// The first of them, in the order of their ids: at most [`Observers::TOLD`].
    pub first: Vec<Observer>,
}

impl Observers {
    /// How many of them are told of.
    pub const TOLD: usize = 100;
}

/// A job that observes a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observer {
    /// Its id.
    pub id: JobId,
    /// Whose it is.
    pub owner: Box<str>,
    /// What people call it.
    pub name: Box<str>,
}

/// What a store could not do, said so that the caller knows what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another job of the owner has the name.
    #[error("a job named \"{0}\" already exists")]
    NameTaken(String),
    /// There is no such job.
    #[error("no job with id {0}")]
    NoSuchJob(JobId),
    /// There is no such execution.
    #[error("no execution with id {0}")]
    NoSuchExecution(ExecutionId),
    /// There is no such policy.
    #[error("no quiet-hours policy with id {0}")]
    NoSuchPolicy(PolicyId),
    /// Another quiet-hours policy has the name.
    #[error("a quiet-hours policy named \"{0}\" already exists")]
    PolicyNameTaken(String),
    /// Jobs still refer to the policy.
    #[error("the quiet-hours policy is in use by {} job(s)", .0.count)]
    PolicyInUse(Box<Observers>),
    /// There are as many policies as there may be.
    #[error("there are {0} quiet-hours policies already, and may be no more")]
    TooManyPolicies(usize),
    /// Somebody else changed the policy since it was read.
    #[error("quiet-hours policy \"{name}\" is at version {current}, not {expected}; read it again")]
    PolicyConflict {
        /// The policy's name.
        name: String,
        /// The version that the caller expected.
        expected: u64,
        /// The version that the policy has.
        current: u64,
    },
    /// There is no such backfill.
    #[error("no backfill with id {0}")]
    NoSuchBackfill(BackfillId),
    /// The job has as many unfinished backfills as it may have.
    #[error("the job has {0} unfinished backfills already, and may have no more")]
    TooManyBackfills(usize),
    /// The backfill is over, so nothing can become of it.
    #[error("the backfill is {0}, and stays so")]
    BackfillIsOver(&'static str),
    /// The job's schedule was changed since the backfill was thought out.
    #[error("the schedule of job \"{0}\" was changed meanwhile; ask again")]
    ScheduleChanged(String),
    /// The overlap policy refuses one more run.
    #[error("job \"{0}\" is already running and its overlap policy admits no further run")]
    Overlap(String),
    /// The owner has as many jobs as it may have.
    #[error("the owner has {0} jobs already, and may have no more")]
    TooManyJobs(u64),
    /// The request is known, and asked for something else.
    #[error("this idempotency key was used for another request")]
    RequestReused,
    /// The execution's slot did not fail for good, or was tried again already.
    #[error("execution {0} is not a dead letter")]
    NotDeadLetter(ExecutionId),
    /// The lease is no longer the caller's: its work must stop and its result is dropped.
    #[error("the lease on execution {0} is lost")]
    LeaseLost(ExecutionId),
    /// Somebody else changed the job since it was read.
    #[error("job \"{name}\" is at version {current}, not {expected}; read it again")]
    VersionConflict {
        /// The job's name.
        name: String,
        /// The version that the caller expected.
        expected: u64,
        /// The version that the job has.
        current: u64,
    },
    /// What is asked for cannot be accepted.
    #[error(transparent)]
    Invalid(#[from] crate::Error),
    /// The step may or may not have happened; try again, the verbs are safe to repeat.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// A record cannot be read; nothing was changed.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
}
