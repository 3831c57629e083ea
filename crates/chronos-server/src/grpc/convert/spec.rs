//! Specs: what a user asks of a job.

use std::time::Duration;

use chronos_core::policy::{OverlapPolicy, Priority, retry};
use chronos_core::{JobId, JobSpec, Timestamp};

use super::time::{duration, span};
use super::{notify, policy, schedule, target};
use crate::defaults::Defaults;
use crate::grpc::refusal::Refusal;
use crate::proto;
use crate::secrets::{Part, Safe};

impl Defaults<'_> {
    /// The spec that was asked for, as a job of this id made at `now`; `before` is what it asks for
    /// until now.
    pub(crate) fn read_message(
        &self,
        asked: Option<proto::JobSpec>,
        (id, before): (JobId, Option<&JobSpec>),
        now: Timestamp,
    ) -> Result<JobSpec, Refusal> {
        let asked = asked.ok_or_else(|| Refusal::missing("spec", "a job's spec"))?;
        self.read_fields(asked, (id, before), now).map_err(|refusal| refusal.within("spec"))
    }

    fn read_fields(
        &self,
        asked: proto::JobSpec,
        (id, before): (JobId, Option<&JobSpec>),
        now: Timestamp,
    ) -> Result<JobSpec, Refusal> {
        let accepted = "a schedule with cron, interval or one_shot";
        let sent = asked.schedule.ok_or_else(|| Refusal::missing("schedule", accepted))?;
        let schedule = schedule::read(sent, self.zone, now);
        let schedule = schedule.map_err(|refusal| refusal.within("schedule"))?;
        let safe = |part| Safe::new(part, self.keyring, id, before);
        let notify = asked.notify.map(|sent| notify::read(sent, self.reach, safe(Part::Webhook)));
        let notify = notify.transpose().map_err(|refusal| refusal.within("notify"))?;
        let safe = safe(Part::Target);
        let accepted = "a target with http, message or handler";
        let sent = asked.target.ok_or_else(|| Refusal::missing("target", accepted))?;
        let target = target::read(sent, &self.handlers, self.reach, safe);
        let target = target.map_err(|refusal| refusal.within("target"))?;
        let spec = JobSpec::new(id, &asked.name, schedule, now);
        let catch_up = match asked.catch_up_policy.and_then(|policy| policy.kind) {
            None => spec.catch_up,
            Some(kind) => {
                policy::catch_up(kind).map_err(|refusal| refusal.within("catch_up_policy"))?
            }
        };
        let usual = retry::Policy::NONE;
        let retry = retry::Policy {
            max_retry: asked.max_retry,
            base: optional("retry_base", asked.retry_base)?.unwrap_or(usual.base),
            max_delay: optional("retry_max", asked.retry_max)?.unwrap_or(usual.max_delay),
        };
        let grace = optional("misfire_grace", asked.misfire_grace)?;
        let window = optional("catch_up_window", asked.catch_up_window)?;
        let limit = optional("max_execution_time", asked.max_execution_time)?;
        Ok(JobSpec {
            overlap: asked.overlap_policy.map_or_else(OverlapPolicy::default, Into::into),
            catch_up,
            misfire_grace: grace.unwrap_or(self.misfire_grace),
            catch_up_window: window,
            priority: priority(asked.priority)?,
            jitter: jitter(asked.jitter_seconds)?,
            quiet_hours: quiet_hours(&asked.quiet_hours_policy_id)?,
            retry,
            max_execution_time: limit.or(target.usual_limit()),
            notify: notify.map(Box::new),
            target,
            ..spec.with_tags(asked.tags)
        })
    }
}

fn optional(field: &str, sent: Option<prost_types::Duration>) -> Result<Option<Duration>, Refusal> {
    sent.map(|sent| span(field, sent)).transpose()
}

fn priority(level: Option<u32>) -> Result<Priority, Refusal> {
    let read = level.map_or_else(|| Ok(Priority::default()), Priority::new);
    read.map_err(|error| Refusal::of("priority", error.to_string()))
}

fn jitter(seconds: u64) -> Result<Duration, Refusal> {
    let most = u32::MAX;
    if seconds > u64::from(most) {
        let problem = format!("{seconds} is not accepted; use whole seconds from 0 to {most}");
        return Err(Refusal::of("jitter_seconds", problem));
    }
    Ok(Duration::from_secs(seconds))
}

fn quiet_hours(id: &str) -> Result<Option<chronos_core::PolicyId>, Refusal> {
    if id.is_empty() {
        return Ok(None);
    }
    let parsed = id.parse().map(Some);
    parsed.map_err(|_| {
        let problem = format!("\"{id}\" is not an id; use the id of a policy, or nothing");
        Refusal::of("quiet_hours_policy_id", problem)
    })
}

impl From<&JobSpec> for proto::JobSpec {
    fn from(spec: &JobSpec) -> Self {
        Self {
            name: spec.name.to_string(),
            schedule: Some((&spec.schedule).into()),
            target: Some((&spec.target).into()),
            overlap_policy: Some(spec.overlap.into()),
            catch_up_policy: Some(spec.catch_up.into()),
            misfire_grace: Some(duration(spec.misfire_grace)),
            jitter_seconds: spec.jitter.as_secs(),
            quiet_hours_policy_id: spec.quiet_hours.map(|id| id.to_string()).unwrap_or_default(),
            max_retry: spec.retry.max_retry,
            retry_base: Some(duration(spec.retry.base)),
            retry_max: Some(duration(spec.retry.max_delay)),
            max_execution_time: spec.max_execution_time.map(duration),
            tags: spec.tags.iter().map(ToString::to_string).collect(),
            priority: Some(spec.priority.level().into()),
            notify: spec.notify.as_deref().map(Into::into),
            catch_up_window: spec.catch_up_window.map(duration),
        }
    }
}
