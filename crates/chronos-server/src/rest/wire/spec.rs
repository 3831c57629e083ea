//! Specs: what a user asks of a job.

use std::time::Duration;

use chronos_core::job::Target as JobTarget;
use chronos_core::policy::{Priority, retry};
use chronos_core::{JobId, JobSpec, PolicyId, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::Errors;
use super::notify::{self, Notify};
use super::policy::{self, CatchUp, Overlap};
use super::schedule::{self, Kind, Schedule};
use super::target::{self, Target};
use super::template;
use crate::defaults::Defaults;
use crate::problem::FieldError;
use crate::seconds::Seconds;
use crate::secrets::{Part, Safe};

/// A job to be made.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "name": "weekday report",
    "schedule": {"type": "cron", "expression": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
    "target": {"type": "http", "url": "https://example.com/reports", "method": "POST"},
    "payload": {"pages": 3},
    "max_retry": 3,
    "tags": ["reports"]
}))]
pub(crate) struct NewJob {
    /// What people call it, unlike any other job of its owner; made up from its id if left out.
    #[schema(max_length = 200, min_length = 1)]
    pub(crate) name: Option<String>,
    /// When its slots are; a one-time job without one runs now.
    #[schema(value_type = Option<Schedule>)]
    pub(crate) schedule: Option<schedule::Asked>,
    /// What a slot does.
    #[schema(value_type = Target)]
    pub(crate) target: target::Asked,
    /// The body for an http target: text is sent as it is, anything else as JSON, letter by letter.
    #[schema(value_type = Option<Value>)]
    pub(crate) payload: Option<Box<RawValue>>,
    /// The same for a body that is no text.
    pub(crate) payload_base64: Option<String>,
    /// What it is filed under.
    #[schema(value_type = Option<Vec<String>>, max_items = 20)]
    pub(crate) tags: Option<Vec<String>>,
    /// `skip` if left out.
    pub(crate) overlap_policy: Option<Overlap>,
    /// Runs at once, where they are `concurrent`.
    #[schema(minimum = 1)]
    pub(crate) max_concurrent: Option<u32>,
    /// Runs that may wait, where they `queue`; 1 if left out.
    #[schema(minimum = 1)]
    pub(crate) max_queued: Option<u32>,
    /// `skip` for recurring jobs and `run_once` for one-time jobs if left out.
    pub(crate) catch_up_policy: Option<CatchUp>,
    /// Slots that `run_all_capped` makes up for; 10 if left out.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) catch_up_max: Option<u32>,
    /// How late a slot may fire and still be on time.
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub(crate) misfire_grace_seconds: Option<Seconds>,
    /// Slots that were missed longer ago than this are not caught up, whatever the policy; none is too old if
    /// left out.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    pub(crate) catch_up_window_seconds: Option<Seconds>,
    /// Which runs go first when several wait for a worker, the highest first; 5 if left out.
    #[schema(minimum = 0, maximum = 9)]
    pub(crate) priority: Option<u32>,
    /// Spreads the start of each run over so many seconds.
    #[schema(minimum = 0)]
    pub(crate) jitter_seconds: Option<u64>,
    /// The policy that says when nothing fires.
    #[schema(format = "uuid")]
    pub(crate) quiet_hours_policy_id: Option<String>,
    /// Retries after the first attempt.
    #[schema(minimum = 0, maximum = 1000)]
    pub(crate) max_retry: Option<u32>,
    /// The delay before the first retry; each further one doubles it.
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub(crate) retry_base_seconds: Option<Seconds>,
    /// The longest delay before a retry.
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub(crate) retry_max_seconds: Option<Seconds>,
    /// Seconds after which a run is stopped; of an http target 300, or its timeout where that is longer,
    /// if left out.
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub(crate) max_execution_time: Option<Seconds>,
    /// Who is told about its runs, and of what; whom the daemon tells about all jobs if left out.
    pub(crate) notify: Option<Notify>,
}

/// What kind of job a route makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recurs {
    Once,
    Often,
    Either,
}

impl Defaults<'_> {
    /// The spec that is asked for, as a job of this id and owner made at `now`. `before` is what the job
    /// asks for until now, and `body` what an http target sends unless the request says otherwise.
    pub(crate) fn read_json(
        &self,
        asked: NewJob,
        recurs: Recurs,
        (id, owner): (JobId, &str),
        (before, body): (Option<&JobSpec>, Option<Vec<u8>>),
        now: Timestamp,
    ) -> Result<JobSpec, Vec<FieldError>> {
        let mut errors = Errors::default();
        let schedule = errors.note(self.schedule(asked.schedule, recurs, now));
        let given = target::body(asked.payload.as_deref(), asked.payload_base64.as_deref());
        let body = errors.note(given).flatten().or(body);
        let safe = |part| Safe::new(part, self.keyring, id, before);
        let notify = asked.notify.map(|asked| asked.read(self.reach, safe(Part::Webhook)));
        let notify = errors.note(notify.transpose());
        let safe = safe(Part::Target);
        let target = errors.note(asked.target.read(body, &self.handlers, self.reach, safe));
        let (most, queued) = (asked.max_concurrent, asked.max_queued);
        let overlap = errors.note(policy::overlap(asked.overlap_policy, most, queued));
        let catch_up = errors.note(policy::catch_up(asked.catch_up_policy, asked.catch_up_max));
        let priority = asked.priority.map_or_else(|| Ok(Priority::default()), Priority::new);
        let priority = errors.note(priority.map_err(|error| field_error(&error)));
        let jitter = errors.note(jitter(asked.jitter_seconds.unwrap_or(0)));
        let quiet_hours = errors.note(quiet_hours(asked.quiet_hours_policy_id.as_deref()));
        let usual = retry::Policy::NONE;
        let retry = retry::Policy {
            max_retry: asked.max_retry.unwrap_or(usual.max_retry),
            base: asked.retry_base_seconds.map_or(usual.base, |Seconds(base)| base),
            max_delay: asked.retry_max_seconds.map_or(usual.max_delay, |Seconds(most)| most),
        };
        let name = asked.name.unwrap_or_else(|| format!("job-{id}"));
        let read = (|| {
            let (spec, target) = (JobSpec::new(id, &name, schedule?, now), target?);
            let limit = asked.max_execution_time.map(|Seconds(most)| most);
            let spec = JobSpec {
                owner: owner.into(),
                overlap: overlap?,
                catch_up: catch_up?.unwrap_or(spec.catch_up),
                misfire_grace: asked
                    .misfire_grace_seconds
                    .map_or(self.misfire_grace, |Seconds(grace)| grace),
                catch_up_window: asked.catch_up_window_seconds.map(|Seconds(window)| window),
                priority: priority?,
                jitter: jitter?,
                quiet_hours: quiet_hours?,
                retry,
                max_execution_time: limit.or(target.usual_limit()),
                notify: notify?,
                target,
                ..spec
            };
            Some(spec.with_tags(asked.tags.unwrap_or_default()))
        })();
        if let Some(spec) = &read {
            errors.note(spec.validate().map_err(|error| field_error(&error)));
        }
        errors.unless_any(read)
    }

    fn schedule(
        &self,
        asked: Option<schedule::Asked>,
        recurs: Recurs,
        now: Timestamp,
    ) -> Result<chronos_core::Schedule, FieldError> {
        let asked = match asked {
            Some(asked) => asked,
            None if recurs == Recurs::Often => {
                return Err(FieldError::missing("schedule", "a schedule of type cron or interval"));
            }
            None => schedule::Asked::at_once(),
        };
        let problem = match (recurs, asked.kind) {
            (Recurs::Once, Kind::Cron | Kind::Interval) => {
                Some("a one-time job has a schedule of type one_shot; use POST /jobs/recurring")
            }
            (Recurs::Often, Kind::OneShot) => {
                Some("a recurring job has a schedule of type cron or interval; use POST /jobs")
            }
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(FieldError::new("schedule.type", problem));
        }
        asked.read(self.zone, now).map_err(|error| error.within("schedule"))
    }
}

fn jitter(seconds: u64) -> Result<Duration, FieldError> {
    let most = u32::MAX;
    if seconds > u64::from(most) {
        let problem = format!("{seconds} is not accepted; use whole seconds from 0 to {most}");
        return Err(FieldError::new("jitter_seconds", problem));
    }
    Ok(Duration::from_secs(seconds))
}

pub(crate) fn quiet_hours(id: Option<&str>) -> Result<Option<PolicyId>, FieldError> {
    let Some(id) = id else {
        return Ok(None);
    };
    id.parse().map(Some).map_err(|_| {
        let shown: String = id.chars().take(100).collect();
        FieldError::new(
            "quiet_hours_policy_id",
            format!("{shown:?} is no id; use that of a policy"),
        )
    })
}

/// The field that an error of the domain speaks of, and what is wrong with it.
pub(crate) fn field_error(error: &chronos_core::Error) -> FieldError {
    use chronos_core::Error;
    let field = match error {
        Error::Cron(_) => "schedule.expression",
        Error::Zone(_) => "schedule.timezone",
        Error::Interval { .. } => "schedule.seconds",
        Error::Name { .. } => "name",
        Error::Tags { .. } | Error::Tag { .. } => "tags",
        Error::MaxRuns => "schedule.max_runs",
        Error::BoundOnOneShot { bound } => {
            return FieldError::new(*bound, error).within("schedule");
        }
        Error::EndBeforeStart { .. } => "schedule.end_at",
        Error::NeverFires { .. } => "schedule",
        Error::CatchUpCap { .. } => "catch_up_max",
        Error::QuietWindow { .. } => "windows",
        Error::QuietHours { field, problem }
        | Error::Subscription { field, problem }
        | Error::Backfill { field, problem } => {
            return FieldError::new(*field, problem);
        }
        Error::ResumeAt { .. } => "resume_at",
        Error::PauseNote { .. } => "note",
        Error::MaxRetry { .. } => "max_retry",
        Error::Priority { .. } => "priority",
        Error::ZeroDuration { field } => field,
        Error::Http { field, problem } => {
            return FieldError::new(target::field_of(field), problem);
        }
        Error::Message { field, problem } => {
            return FieldError::new(template::field_of(field), problem);
        }
        Error::Notify { field, problem } => {
            return FieldError::new(notify::field_of(field), problem);
        }
    };
    FieldError::new(field, error)
}

/// What an http target of the job sends.
pub(crate) fn body_of(spec: &JobSpec) -> Option<Vec<u8>> {
    match &spec.target {
        JobTarget::Http(http) => Some(http.body().to_vec()).filter(|body| !body.is_empty()),
        JobTarget::Handler { .. } | JobTarget::Message(_) => None,
    }
}
