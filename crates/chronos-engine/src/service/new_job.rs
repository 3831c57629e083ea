//! A job to be registered: its schedule and policies, each with its usual value.

use std::time::Duration;

use chrono::{DateTime, Utc};
#[cfg(feature = "http")]
use chronos_core::Http;
use chronos_core::job::Target;
use chronos_core::message::Template;
use chronos_core::notice::Notify;
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy, Priority, retry};
use chronos_core::schedule::{Schedule, Zone};
use chronos_core::{Error, JobId, JobSpec, PolicyId, Timestamp};

use super::config::{SchedulerConfig, SchedulerError};

/// A job to be registered.
///
/// ```
/// # use chronos_engine::{NewJob, OverlapPolicy};
/// # use std::time::Duration;
/// let report = NewJob::named("report")
///     .cron("0 9 * * 1-5")
///     .timezone("Europe/Berlin")
///     .overlap(OverlapPolicy::Skip)
///     .jitter(Duration::from_secs(30))
///     .retries(3);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a job runs once it is registered"]
pub struct NewJob {
    name: String,
    when: Option<When>,
    timezone: Option<String>,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    max_runs: Option<u64>,
    overlap: OverlapPolicy,
    catch_up: Option<CatchUpPolicy>,
    priority: Priority,
    jitter: Duration,
    retry: retry::Policy,
    quiet_hours: Option<PolicyId>,
    max_execution_time: Option<Duration>,
    misfire_grace: Option<Duration>,
    catch_up_window: Option<Duration>,
    notify: Option<Notify>,
    target: Option<Target>,
}

#[derive(Clone, Debug)]
enum When {
    Cron(String),
    Every(Duration),
    AfterEnd(Duration),
    At(Timestamp),
}

impl NewJob {
    /// A job of this name, unique in its scheduler.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            when: None,
            timezone: None,
            start_at: None,
            end_at: None,
            max_runs: None,
            overlap: OverlapPolicy::default(),
            catch_up: None,
            priority: Priority::default(),
            jitter: Duration::ZERO,
            retry: retry::Policy::NONE,
            quiet_hours: None,
            max_execution_time: None,
            misfire_grace: None,
            catch_up_window: None,
            notify: None,
            target: None,
        }
    }

    /// Runs at the times of a cron expression of 5, 6 or 7 fields.
    pub fn cron(self, expression: impl Into<String>) -> Self {
        Self { when: Some(When::Cron(expression.into())), ..self }
    }

    /// Runs every so often, keeping its phase however long the runs take.
    pub fn every(self, interval: Duration) -> Self {
        Self { when: Some(When::Every(interval)), ..self }
    }

    /// Runs this long after the end of the run before.
    pub fn after_end(self, delay: Duration) -> Self {
        Self { when: Some(When::AfterEnd(delay)), ..self }
    }

    /// Runs once, at this instant.
    pub fn at(self, instant: DateTime<Utc>) -> Self {
        Self { when: Some(When::At(instant.into())), ..self }
    }

    /// The IANA zone whose wall clock a cron expression is read on.
    pub fn timezone(self, name: impl Into<String>) -> Self {
        Self { timezone: Some(name.into()), ..self }
    }

    /// No slot before this instant.
    pub fn start_at(self, instant: DateTime<Utc>) -> Self {
        Self { start_at: Some(instant.into()), ..self }
    }

    /// No slot after this instant.
    pub fn end_at(self, instant: DateTime<Utc>) -> Self {
        Self { end_at: Some(instant.into()), ..self }
    }

    /// At most this many slots fire.
    pub fn max_runs(self, runs: u64) -> Self {
        Self { max_runs: Some(runs), ..self }
    }

    /// What happens when runs overlap; by default the later one is skipped.
    pub fn overlap(self, policy: OverlapPolicy) -> Self {
        Self { overlap: policy, ..self }
    }

    /// What happens to missed slots; by default they are skipped, and a one-time job runs late.
    pub fn catch_up(self, policy: CatchUpPolicy) -> Self {
        Self { catch_up: Some(policy), ..self }
    }

    /// Which runs go first when several wait for a worker; by default all are alike.
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Spreads the start of each run over this window.
    pub fn jitter(self, window: Duration) -> Self {
        Self { jitter: window, ..self }
    }

    /// Retries a failed run up to this often, after 5 s doubling up to an hour.
    pub fn retries(self, max_retry: u32) -> Self {
        Self { retry: retry::Policy { max_retry, ..self.retry }, ..self }
    }

    /// The delay before the first retry and the longest one; each doubles the one before.
    pub fn retry_delay(self, base: Duration, max_delay: Duration) -> Self {
        Self { retry: retry::Policy { base, max_delay, ..self.retry }, ..self }
    }

    /// The policy that says when nothing fires.
    pub fn quiet_hours(self, policy: PolicyId) -> Self {
        Self { quiet_hours: Some(policy), ..self }
    }

    /// Stops a run after this long; one that calls an endpoint after
    /// [five minutes](chronos_core::job::Target::usual_limit) unless told otherwise.
    pub fn max_execution_time(self, limit: Duration) -> Self {
        Self { max_execution_time: Some(limit), ..self }
    }

    /// Who is told about runs that fail for good, recover or are overdue; by default whom the
    /// [configuration](SchedulerConfig::notify) names.
    pub fn notify(self, notify: Notify) -> Self {
        Self { notify: Some(notify), ..self }
    }

    /// How late a slot may fire and still count as on time.
    pub fn misfire_grace(self, grace: Duration) -> Self {
        Self { misfire_grace: Some(grace), ..self }
    }

    /// Slots that were missed longer ago than this are not caught up, whatever the policy.
    pub fn catch_up_window(self, window: Duration) -> Self {
        Self { catch_up_window: Some(window), ..self }
    }

    /// Calls this endpoint instead of a closure; such a job is
    /// [scheduled](crate::SchedulerService::schedule), not registered.
    #[cfg(feature = "http")]
    pub fn http(self, request: Http) -> Self {
        Self { target: Some(request.into()), ..self }
    }

    /// Emits a message in the step that fires its slot, for whoever follows
    /// [`events`](crate::SchedulerService::events).
    pub fn message(self, template: Template) -> Self {
        Self { target: Some(template.into()), ..self }
    }

    pub(super) fn says(&self) -> bool {
        matches!(self.target, Some(Target::Message(_)))
    }

    pub(super) fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// The job's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn into_spec(
        self,
        id: JobId,
        config: &SchedulerConfig,
        default_zone: Zone,
        now: Timestamp,
    ) -> Result<JobSpec, SchedulerError> {
        let Some(when) = self.when.clone() else {
            return Err(SchedulerError::NoSchedule(self.name));
        };
        let schedule = self
            .schedule(when, default_zone, now)
            .map_err(|error| SchedulerError::InvalidJob { job: self.name.clone(), error })?;
        let mut spec = JobSpec::new(id, &self.name, schedule, now);
        if let Some(target) = self.target {
            spec = spec.with_target(target);
        }
        let spec = JobSpec {
            overlap: self.overlap,
            catch_up: self.catch_up.unwrap_or(spec.catch_up),
            misfire_grace: self.misfire_grace.unwrap_or(config.misfire_grace),
            catch_up_window: self.catch_up_window,
            priority: self.priority,
            jitter: self.jitter,
            quiet_hours: self.quiet_hours,
            retry: self.retry,
            max_execution_time: self.max_execution_time.or(spec.target.usual_limit()),
            notify: self.notify.map(Box::new),
            ..spec
        };
        Ok(spec)
    }

    fn schedule(&self, when: When, default_zone: Zone, now: Timestamp) -> Result<Schedule, Error> {
        let zone = self.timezone.as_deref().map_or(Ok(default_zone), Zone::parse)?;
        let mut schedule = match when {
            When::Cron(expression) => Schedule::cron(&expression, zone)?,
            When::Every(interval) => Schedule::interval(interval, now)?,
            When::AfterEnd(delay) => Schedule::fixed_delay(delay, now)?,
            When::At(instant) => Schedule::one_shot(instant),
        };
        if let Some(start) = self.start_at {
            schedule = schedule.starting_at(start)?;
        }
        if let Some(end) = self.end_at {
            schedule = schedule.ending_at(end)?;
        }
        match self.max_runs {
            Some(runs) => schedule.at_most(runs),
            None => Ok(schedule),
        }
    }
}
