//! Jobs: what a user asked for, and where it stands.

mod status;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::audit::Slots;
use crate::execution::{Execution, SkipReason};
use crate::message::Template;
use crate::notice::Notify;
use crate::policy::{CatchUpPolicy, OverlapPolicy, Priority, retry};
use crate::schedule::Schedule;
use crate::{Error, Http, JobId, PolicyId, Timestamp, TraceId};
pub use status::Status;

/// A job: what was asked for, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What was asked for; shared, because it changes only by an edit.
    pub spec: Arc<JobSpec>,
    /// Where it stands; changes with every slot and every run.
    pub standing: Standing,
}

/// What a user asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Identifies the job.
    pub id: JobId,
    /// Whose job it is; names are unique per owner.
    pub owner: Box<str>,
    /// What people call it.
    pub name: Box<str>,
    /// What it is filed under; in order, each once.
    pub tags: Box<[Box<str>]>,
    /// The policy that says when nothing fires.
    pub quiet_hours: Option<PolicyId>,
    /// When its slots are.
    pub schedule: Schedule,
    /// What a slot does.
    pub target: Target,
    /// What happens when runs overlap.
    pub overlap: OverlapPolicy,
    /// What happens to missed slots.
    pub catch_up: CatchUpPolicy,
    /// How late a slot may fire and still count as on time.
    pub misfire_grace: Duration,
    /// Slots that were missed longer ago than this are not caught up, whatever the policy; `None` where none
    /// is too old.
    #[serde(default)]
    pub catch_up_window: Option<Duration>,
    /// Which of its runs and those of other jobs goes first when they wait for a worker.
    pub priority: Priority,
    /// Spreads the start of each run over this window.
    pub jitter: Duration,
    /// What happens after a failure.
    pub retry: retry::Policy,
    /// A run is stopped after this long.
    pub max_execution_time: Option<Duration>,
    /// Who is told about its runs, and of what; where it does not say, what the scheduler usually tells.
    pub notify: Option<Box<Notify>>,
    /// The trace of whoever asked for the job, which the runs of a one-time job belong to.
    pub trace: Option<TraceId>,
    /// When the job was made.
    pub created_at: Timestamp,
    /// Counts edits, from 1.
    pub version: u64,
}

/// What a slot does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// Calls the Rust handler that was registered under this name.
    Handler {
        /// The handler's name.
        name: Box<str>,
    },
    /// Calls an HTTP endpoint; boxed, because most jobs of a program call handlers.
    Http(Box<Http>),
    /// Emits a message in the step that fires the slot; nothing has to run.
    Message(Box<Template>),
}

impl Target {
    /// A request that takes longer is given up, whatever its timeouts say.
    pub const HTTP_LIMIT: Duration = Duration::from_mins(5);

    /// How long a run may take where its job does not say: requests five minutes, or as long as their own
    /// timeout where that is longer; handlers as long as they like.
    #[must_use]
    pub fn usual_limit(&self) -> Option<Duration> {
        match self {
            Self::Handler { .. } | Self::Message(_) => None,
            Self::Http(http) => Some(Self::HTTP_LIMIT.max(http.timeout())),
        }
    }
}

impl From<Http> for Target {
    fn from(http: Http) -> Self {
        Self::Http(Box::new(http))
    }
}

impl From<Template> for Target {
    fn from(template: Template) -> Self {
        Self::Message(Box::new(template))
    }
}

impl JobSpec {
    /// A slot fired within this time of its instant is on time.
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);
    /// Longer names are refused.
    pub const MAX_NAME: usize = 200;
    /// More tags are refused.
    pub const MAX_TAGS: usize = 20;
    /// Longer tags are refused.
    pub const MAX_TAG: usize = 64;

    /// A job of this name on this schedule that calls the handler of the same name; every policy at
    /// its default.
    #[must_use]
    pub fn new(id: JobId, name: &str, schedule: Schedule, created_at: Timestamp) -> Self {
        let catch_up = if schedule.is_one_shot() {
            // A late one-time job runs late; it is never dropped.
            CatchUpPolicy::RunOnce
        } else {
            CatchUpPolicy::Skip
        };
        Self {
            id,
            owner: "".into(),
            name: name.into(),
            tags: Box::default(),
            quiet_hours: None,
            schedule,
            target: Target::Handler { name: name.into() },
            overlap: OverlapPolicy::default(),
            catch_up,
            misfire_grace: Self::DEFAULT_GRACE,
            catch_up_window: None,
            priority: Priority::default(),
            jitter: Duration::ZERO,
            retry: retry::Policy::NONE,
            max_execution_time: None,
            notify: None,
            trace: None,
            created_at,
            version: 1,
        }
    }

    /// The same job with another target.
    #[must_use]
    pub fn with_target(self, target: impl Into<Target>) -> Self {
        Self { target: target.into(), ..self }
    }

    /// The same job with these tags, in order and each once.
    #[must_use]
    pub fn with_tags<T: Into<Box<str>>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        let mut tags: Vec<Box<str>> = tags.into_iter().map(Into::into).collect();
        tags.sort_unstable();
        tags.dedup();
        Self { tags: tags.into(), ..self }
    }

    /// What it says when it fires, if it is a message job.
    #[must_use]
    pub fn template(&self) -> Option<&Template> {
        match &self.target {
            Target::Message(template) => Some(template),
            Target::Handler { .. } | Target::Http(_) => None,
        }
    }

    /// Refuses what the types alone cannot: names, zero durations and unbounded retries.
    pub fn validate(&self) -> Result<(), Error> {
        let length = self.name.chars().count();
        if length == 0 || length > Self::MAX_NAME || self.name.chars().any(char::is_control) {
            let given = self.name.chars().take(Self::MAX_NAME).collect();
            return Err(Error::Name { given });
        }
        if self.tags.len() > Self::MAX_TAGS {
            return Err(Error::Tags { given: self.tags.len() });
        }
        let is_accepted = |tag: &str| {
            (1..=Self::MAX_TAG).contains(&tag.chars().count()) && !tag.chars().any(char::is_control)
        };
        if let Some(tag) = self.tags.iter().find(|tag| !is_accepted(tag)) {
            return Err(Error::Tag { given: tag.chars().take(Self::MAX_TAG).collect() });
        }
        if let CatchUpPolicy::RunAllCapped(cap) = self.catch_up {
            CatchUpPolicy::run_all_capped(cap.get())?;
        }
        if self.retry.max_retry > retry::Policy::MAX_RETRY {
            return Err(Error::MaxRetry { given: self.retry.max_retry });
        }
        if self.retry.max_retry > 0 && self.retry.base.is_zero() {
            return Err(Error::ZeroDuration { field: "retry_base_seconds" });
        }
        if self.catch_up_window == Some(Duration::ZERO) {
            return Err(Error::ZeroDuration { field: "catch_up_window_seconds" });
        }
        if self.max_execution_time == Some(Duration::ZERO) {
            return Err(Error::ZeroDuration { field: "max_execution_time" });
        }
        if matches!(self.target, Target::Message(_)) && !self.jitter.is_zero() {
            let problem = "a message is emitted in the step that fires its slot; leave it out";
            return Err(Error::Message { field: "jitter_seconds", problem: problem.into() });
        }
        self.notify.as_ref().map_or(Ok(()), |notify| notify.validate())
    }
}

/// Where a job stands: its place in its schedule, whether it is paused, and what has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Off when the schedule is over or someone switched the job off.
    pub enabled: bool,
    /// Set while the job is paused.
    pub paused: Option<Pause>,
    /// The newest slot that has been accounted for.
    pub last_slot: Option<Timestamp>,
    /// The oldest slot that has not.
    pub next_slot: Option<Timestamp>,
    /// The end of the quiet hours that hold the next slot back.
    pub deferred_until: Option<Timestamp>,
    /// Set while its runs fail for good.
    pub failing: Option<Failing>,
    /// What has happened so far.
    pub tally: Tally,
}

/// Since when a job's runs have failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// When the first of them did.
    pub since: Timestamp,
    /// How many did.
    pub failures: u32,
}

/// Why, since when and until when a job is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Since when.
    pub since: Timestamp,
    /// What the person who paused it wrote.
    pub note: Option<Arc<str>>,
    /// When it resumes by itself; `None` when somebody must say so.
    pub resume_at: Option<Timestamp>,
}

impl Pause {
    /// Longer notes are refused.
    pub const MAX_NOTE: usize = 1_000;
}

/// What has happened to a job so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Slots that fired.
    pub fired: u64,
    /// Runs asked for by hand.
    pub manual: u64,
    /// Attempts that succeeded.
    pub succeeded: u64,
    /// Attempts that failed, timed out or were stopped.
    pub failed: u64,
    /// Slots that were passed over.
    pub skipped: u64,
    /// Failed attempts since the last success.
    pub failed_in_a_row: u32,
    /// When the newest finished attempt began.
    pub last_run: Option<Timestamp>,
    /// How long it took.
    pub last_duration: Option<Duration>,
    /// Why it failed, if it did.
    pub last_error: Option<Arc<str>>,
    /// The newest slot passed over, and why.
    pub last_skip: Option<(Timestamp, Arc<str>)>,
}

impl Tally {
    /// Counts slots that were passed over.
    pub(crate) fn pass_over(&mut self, slots: &Slots, reason: &SkipReason) {
        self.skipped += slots.count.unwrap_or(1);
        self.last_skip = Some((slots.last, reason.as_str().into()));
    }
}

impl Standing {
    /// Counts a run that began, ended and succeeded at once.
    pub(crate) fn succeed(&mut self, now: Timestamp) {
        self.failing = None;
        let tally = &mut self.tally;
        tally.succeeded += 1;
        tally.failed_in_a_row = 0;
        (tally.last_run, tally.last_duration) = (Some(now), Some(Duration::ZERO));
        tally.last_error = None;
    }

    /// The standing of a new job: enabled, at its first slot.
    pub fn begin(schedule: &Schedule, now: Timestamp) -> Result<Self, Error> {
        let first = match schedule.cadence() {
            // A one-time instant just past is late, not absent.
            crate::schedule::Cadence::OneShot(at) => Some(*at),
            _ => schedule.next_after(now),
        };
        let first =
            first.ok_or_else(|| Error::NeverFires { schedule: schedule.describe(), after: now })?;
        Ok(Self { enabled: true, next_slot: Some(first), ..Self::default() })
    }

    /// The same standing on another schedule: it goes on after everything accounted for so far.
    pub fn moved_to(mut self, schedule: &Schedule, now: Timestamp) -> Result<Self, Error> {
        let after = self.last_slot.map_or(now, |last| last.max(now));
        let begun = Self::begin(schedule, after)?;
        // A one-time instant that has been accounted for does not come again.
        let passed = begun.next_slot <= self.last_slot;
        let used_up = schedule.max_runs().is_some_and(|most| self.tally.fired >= most.get());
        if passed || used_up {
            return Err(Error::NeverFires { schedule: schedule.describe(), after });
        }
        self.enabled = true;
        self.next_slot = begun.next_slot;
        self.deferred_until = None;
        Ok(self)
    }
}

impl Job {
    /// A new job, at its first slot.
    pub fn new(spec: JobSpec, now: Timestamp) -> Result<Self, Error> {
        spec.validate()?;
        let standing = Standing::begin(&spec.schedule, now)?;
        Ok(Self { spec: Arc::new(spec), standing })
    }

    /// When the planner must look at it next: at its slot, or at the end of its pause.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        let resume_at = self.standing.paused.as_ref().and_then(|pause| pause.resume_at);
        // A job that is switched off resumes all the same: what of it waits for that must go on.
        resume_at.into_iter().chain(self.slot_due()).min()
    }

    fn slot_due(&self) -> Option<Timestamp> {
        if !self.standing.enabled || self.is_parked() {
            return None;
        }
        let next = self.standing.next_slot?;
        Some(self.standing.deferred_until.map_or(next, |until| until.max(next)))
    }

    /// Whether a pause keeps this execution of the job from beginning.
    #[must_use]
    pub fn keeps_waiting(&self, execution: &Execution) -> bool {
        self.standing.paused.is_some()
            && execution.is_queued()
            && execution.trigger.waits_out_pauses()
    }

    /// Whether a pause keeps its only slot waiting: a one-time job is late after a pause, not lost.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.standing.paused.is_some() && self.spec.schedule.is_one_shot()
    }
}
