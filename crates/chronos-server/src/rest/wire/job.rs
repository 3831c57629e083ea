//! Jobs as they are told: what was asked for, where they stand, and what of them is alive.

use chronos_core::job::{Status, Tally};
use chronos_core::{Execution, JobSpec, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::notify::Notify;
use super::policy::{self, CatchUp, Overlap};
use super::schedule::Schedule;
use super::target::{self, Target};
use crate::seconds::Seconds;

/// A job: what was asked for, and where it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Job {
    #[schema(format = "uuid")]
    id: String,
    /// Grows with every edit; the `ETag` of the job.
    version: u64,
    /// `PENDING`, `RUNNING`, `RETRY_PENDING`, `SUCCESS`, `FAILED` or `DISABLED`.
    #[schema(example = "PENDING")]
    status: &'static str,
    #[serde(flatten)]
    asked: Asked,
    /// The schedule in words.
    #[schema(example = "at 09:00, Monday to Friday, Europe/Berlin")]
    description: String,
    /// Whether there is more than one slot.
    recurring: bool,
    /// Whose job it is.
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Off when the schedule is over or someone switched the job off.
    enabled: bool,
    /// Since when and why it is paused.
    paused: Option<Pause>,
    /// Its next slot.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_execution_time: Option<Timestamp>,
    /// When the newest finished run began.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_run_at: Option<Timestamp>,
    last_duration_ms: Option<u64>,
    last_error: Option<String>,
    /// Retries that came before what is alive of it.
    retry_count: u32,
    /// Runs under way.
    running: u32,
    /// Runs that wait.
    waiting: u32,
    /// Whether a worker has a run of it.
    picked_by_worker: bool,
    counts: Counts,
    /// The secrets that this change took from it, because it calls another host now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    dropped_secrets: Vec<String>,
}

/// What was asked for: the fields of a new job, with everything that was left out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Asked {
    name: String,
    schedule: Schedule,
    target: Target,
    /// The body for an http target: text as it is sent, anything else as JSON.
    #[schema(value_type = Option<Value>)]
    payload: Option<Box<RawValue>>,
    /// The same if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    tags: Vec<String>,
    overlap_policy: Overlap,
    max_concurrent: Option<u32>,
    max_queued: Option<u32>,
    catch_up_policy: CatchUp,
    catch_up_max: Option<u32>,
    #[schema(value_type = f64)]
    misfire_grace_seconds: Seconds,
    #[schema(value_type = Option<f64>)]
    catch_up_window_seconds: Option<Seconds>,
    #[schema(minimum = 0, maximum = 9)]
    priority: u32,
    jitter_seconds: u64,
    #[schema(format = "uuid")]
    quiet_hours_policy_id: Option<String>,
    max_retry: u32,
    #[schema(value_type = f64)]
    retry_base_seconds: Seconds,
    #[schema(value_type = f64)]
    retry_max_seconds: Seconds,
    #[schema(value_type = Option<f64>)]
    max_execution_time: Option<Seconds>,
    /// Who is told about its runs, and of what; null where it says nothing of its own.
    notify: Option<Notify>,
}

/// Since when and why a job is paused.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Pause {
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    note: Option<String>,
    /// When it resumes by itself, if it does.
    #[schema(value_type = Option<String>, format = DateTime)]
    resume_at: Option<Timestamp>,
}

/// What has happened to a job so far.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Counts {
    /// Slots that fired.
    fired: u64,
    /// Runs asked for by hand.
    manual: u64,
    /// Attempts that succeeded.
    succeeded: u64,
    /// Attempts that failed, timed out or were stopped.
    failed: u64,
    /// Slots that were passed over.
    skipped: u64,
    /// Failed attempts since the last success.
    failed_in_a_row: u32,
}

impl From<&Tally> for Counts {
    fn from(tally: &Tally) -> Self {
        Self {
            fired: tally.fired,
            manual: tally.manual,
            succeeded: tally.succeeded,
            failed: tally.failed,
            skipped: tally.skipped,
            failed_in_a_row: tally.failed_in_a_row,
        }
    }
}

impl From<&JobSpec> for Asked {
    fn from(spec: &JobSpec) -> Self {
        let (overlap_policy, max_concurrent, max_queued) = policy::told_overlap(spec.overlap);
        let (payload, payload_base64) = target::payload(&spec.target);
        let (catch_up_policy, catch_up_max) = policy::told_catch_up(spec.catch_up);
        Self {
            name: spec.name.to_string(),
            schedule: (&spec.schedule).into(),
            target: (&spec.target).into(),
            payload,
            payload_base64,
            tags: spec.tags.iter().map(ToString::to_string).collect(),
            overlap_policy,
            max_concurrent,
            max_queued,
            catch_up_policy,
            catch_up_max,
            misfire_grace_seconds: spec.misfire_grace.into(),
            catch_up_window_seconds: spec.catch_up_window.map(Into::into),
            priority: spec.priority.level().into(),
            jitter_seconds: spec.jitter.as_secs(),
            quiet_hours_policy_id: spec.quiet_hours.map(|id| id.to_string()),
            max_retry: spec.retry.max_retry,
            retry_base_seconds: spec.retry.base.into(),
            retry_max_seconds: spec.retry.max_delay.into(),
            max_execution_time: spec.max_execution_time.map(Into::into),
            notify: spec.notify.as_deref().map(Into::into),
        }
    }
}

impl Job {
    /// The job, which a change took these secrets from.
    pub(crate) fn without(self, dropped_secrets: Vec<String>) -> Self {
        Self { dropped_secrets, ..self }
    }

    /// The job without what the queries of its URLs hold.
    pub(crate) fn without_queries(mut self) -> Self {
        self.asked.target.hide_query();
        if let Some(notify) = &mut self.asked.notify {
            notify.hide_query();
        }
        self
    }

    /// The job, of which this is alive.
    pub(crate) fn of(job: &chronos_core::Job, live: &[&Execution]) -> Self {
        let chronos_core::Job { spec, standing } = job;
        let tally = &standing.tally;
        let is_run = |live: &&&Execution| live.notice().is_none();
        let live: Vec<&Execution> = live.iter().filter(is_run).copied().collect();
        let running = live.iter().filter(|live| live.running().is_some()).count();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            id: spec.id.to_string(),
            version: spec.version,
            status: Status::of(job, live.iter().copied()).as_str(),
            asked: spec.as_ref().into(),
            description: spec.schedule.describe(),
            recurring: !spec.schedule.is_one_shot(),
            created_by: spec.owner.to_string(),
            created_at: spec.created_at,
            enabled: standing.enabled,
            paused: standing.paused.as_ref().map(|pause| Pause {
                since: pause.since,
                note: pause.note.as_deref().map(Into::into),
                resume_at: pause.resume_at,
            }),
            next_execution_time: standing.next_slot,
            last_run_at: tally.last_run,
            last_duration_ms: tally.last_duration.and_then(|took| took.as_millis().try_into().ok()),
            last_error: tally.last_error.as_deref().map(Into::into),
            retry_count: live.iter().map(|live| live.retry).max().unwrap_or(0),
            running: count(running),
            waiting: count(live.len() - running),
            picked_by_worker: running > 0,
            counts: tally.into(),
            dropped_secrets: Vec::new(),
        }
    }
}
