//! A job as JSON: what `--file` reads and `--json` writes, with the names of the REST API.

use chronos_core::Timestamp;
use chronos_core::policy::CatchUpPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::notify::Notify;
pub(super) use super::target::Target;
use super::time::{duration, instant, to_duration, to_instant};
use crate::cli::Error;
use crate::proto;
use crate::proto::catch_up_policy as catch_up;
use crate::proto::overlap_policy as overlap;
pub(super) use crate::seconds::Seconds;

/// What is asked of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schedule: Option<Schedule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<Target>,
    /// The body of an HTTP target: text as it is, anything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) payload: Option<Value>,
    /// A body that is no text, which JSON cannot hold.
    #[serde(skip)]
    pub(super) raw_payload: Option<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) overlap_policy: Overlap,
    /// Of `concurrent`: how many may run at once; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_concurrent: Option<u32>,
    /// Of `queue`: how many may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_queued: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) catch_up_policy: Option<CatchUp>,
    /// Of `run_all_capped`: how many missed slots run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) catch_up_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) misfire_grace_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) catch_up_window_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) priority: Option<u32>,
    #[serde(default)]
    pub(super) jitter_seconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) quiet_hours_policy_id: Option<String>,
    #[serde(default)]
    pub(super) max_retry: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_base_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_max_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_execution_time: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) notify: Option<Notify>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Schedule {
    Cron {
        expression: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        timezone: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_runs: Option<u64>,
    },
    Interval {
        seconds: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fixed_delay: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_runs: Option<u64>,
    },
    OneShot {
        at: Timestamp,
    },
}

/// The first and the last instant of a schedule, and how many slots may fire.
type Bounds<'a> = (&'a mut Option<Timestamp>, &'a mut Option<Timestamp>, &'a mut Option<u64>);

impl Schedule {
    pub(super) fn cron(expression: &str) -> Self {
        let (expression, timezone) = (expression.into(), String::new());
        Self::Cron { expression, timezone, start_at: None, end_at: None, max_runs: None }
    }

    pub(super) fn every(seconds: u64) -> Self {
        let fixed_delay = false;
        Self::Interval { seconds, fixed_delay, start_at: None, end_at: None, max_runs: None }
    }

    /// The bounds of a schedule that recurs.
    pub(super) fn bounds(&mut self) -> Option<Bounds<'_>> {
        match self {
            Self::Cron { start_at, end_at, max_runs, .. }
            | Self::Interval { start_at, end_at, max_runs, .. } => {
                Some((start_at, end_at, max_runs))
            }
            Self::OneShot { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Overlap {
    #[default]
    Skip,
    Concurrent,
    Queue,
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CatchUp {
    Skip,
    RunOnce,
    RunAllCapped,
}

impl From<Spec> for proto::JobSpec {
    fn from(spec: Spec) -> Self {
        let overlap = match spec.overlap_policy {
            Overlap::Skip => overlap::Kind::Skip(overlap::Skip {}),
            Overlap::Concurrent => overlap::Kind::Concurrent(overlap::Concurrent {
                max_concurrent: spec.max_concurrent.unwrap_or(0),
            }),
            Overlap::Queue => {
                overlap::Kind::Queue(overlap::Queue { max_queued: spec.max_queued.unwrap_or(0) })
            }
            Overlap::Replace => overlap::Kind::Replace(overlap::Replace {}),
        };
        let catch_up = spec.catch_up_policy.map(|policy| match policy {
            CatchUp::Skip => catch_up::Kind::Skip(catch_up::Skip {}),
            CatchUp::RunOnce => catch_up::Kind::RunOnce(catch_up::RunOnce {}),
            CatchUp::RunAllCapped => catch_up::Kind::RunAllCapped(catch_up::RunAllCapped {
                catch_up_max: spec.catch_up_max.unwrap_or(CatchUpPolicy::USUAL_CAP),
            }),
        });
        let body = spec.raw_payload.unwrap_or_else(|| body(spec.payload));
        let wire = |seconds: Option<Seconds>| seconds.map(|seconds| to_duration(seconds.0));
        Self {
            name: spec.name,
            schedule: spec.schedule.map(Into::into),
            target: spec.target.map(|target| target.into_proto(body)),
            overlap_policy: Some(proto::OverlapPolicy { kind: Some(overlap) }),
            catch_up_policy: catch_up.map(|kind| proto::CatchUpPolicy { kind: Some(kind) }),
            misfire_grace: wire(spec.misfire_grace_seconds),
            catch_up_window: wire(spec.catch_up_window_seconds),
            jitter_seconds: spec.jitter_seconds,
            quiet_hours_policy_id: spec.quiet_hours_policy_id.unwrap_or_default(),
            max_retry: spec.max_retry,
            retry_base: wire(spec.retry_base_seconds),
            retry_max: wire(spec.retry_max_seconds),
            max_execution_time: wire(spec.max_execution_time),
            tags: spec.tags,
            priority: spec.priority,
            notify: spec.notify.map(Into::into),
        }
    }
}

fn body(payload: Option<Value>) -> Vec<u8> {
    match payload {
        None => Vec::new(),
        Some(Value::String(text)) => text.into_bytes(),
        Some(json) => json.to_string().into_bytes(),
    }
}

/// The payload that gives this body again: JSON where that is the same to the byte, else text.
fn payload(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok().filter(|text| !text.is_empty())?;
    let json: Option<Value> = serde_json::from_str(text).ok();
    let same =
        |json: &Value| !json.is_string() && serde_json::to_vec(json).is_ok_and(|b| b == body);
    Some(json.filter(same).unwrap_or_else(|| text.into()))
}

impl From<Schedule> for proto::Schedule {
    fn from(schedule: Schedule) -> Self {
        use proto::schedule::Cadence;
        let (cadence, start_at, end_at, max_runs) = match schedule {
            Schedule::Cron { expression, timezone, start_at, end_at, max_runs } => {
                let cron = proto::Cron { expression, timezone };
                (Cadence::Cron(cron), start_at, end_at, max_runs)
            }
            Schedule::Interval { seconds, fixed_delay, start_at, end_at, max_runs } => {
                let interval = proto::Interval { seconds, fixed_delay };
                (Cadence::Interval(interval), start_at, end_at, max_runs)
            }
            Schedule::OneShot { at } => (Cadence::OneShot(to_instant(at)), None, None, None),
        };
        Self {
            cadence: Some(cadence),
            start_at: start_at.map(to_instant),
            end_at: end_at.map(to_instant),
            max_runs: max_runs.unwrap_or(0),
        }
    }
}

impl From<&proto::JobSpec> for Spec {
    fn from(wire: &proto::JobSpec) -> Self {
        let seconds = |wire: &Option<_>| duration(wire.as_ref()).map(Seconds);
        let mut spec = Self {
            name: wire.name.clone(),
            schedule: wire.schedule.as_ref().and_then(schedule),
            misfire_grace_seconds: seconds(&wire.misfire_grace),
            catch_up_window_seconds: seconds(&wire.catch_up_window),
            jitter_seconds: wire.jitter_seconds,
            quiet_hours_policy_id: Some(wire.quiet_hours_policy_id.clone())
                .filter(|id| !id.is_empty()),
            max_retry: wire.max_retry,
            retry_base_seconds: seconds(&wire.retry_base),
            retry_max_seconds: seconds(&wire.retry_max),
            max_execution_time: seconds(&wire.max_execution_time),
            tags: wire.tags.clone(),
            priority: wire.priority,
            notify: wire.notify.as_ref().map(Into::into),
            ..Self::default()
        };
        spec.set_target(wire.target.as_ref().and_then(|target| target.kind.as_ref()));
        spec.set_overlap(wire.overlap_policy.as_ref().and_then(|policy| policy.kind.as_ref()));
        spec.set_catch_up(wire.catch_up_policy.as_ref().and_then(|policy| policy.kind.as_ref()));
        spec
    }
}

fn schedule(wire: &proto::Schedule) -> Option<Schedule> {
    use proto::schedule::Cadence;
    let (start_at, end_at) = (instant(wire.start_at.as_ref()), instant(wire.end_at.as_ref()));
    let max_runs = (wire.max_runs > 0).then_some(wire.max_runs);
    Some(match wire.cadence.as_ref()? {
        Cadence::Cron(proto::Cron { expression, timezone }) => {
            let (expression, timezone) = (expression.clone(), timezone.clone());
            Schedule::Cron { expression, timezone, start_at, end_at, max_runs }
        }
        Cadence::Interval(proto::Interval { seconds, fixed_delay }) => {
            let (seconds, fixed_delay) = (*seconds, *fixed_delay);
            Schedule::Interval { seconds, fixed_delay, start_at, end_at, max_runs }
        }
        Cadence::OneShot(at) => Schedule::OneShot { at: instant(Some(at))? },
    })
}

impl Spec {
    /// Refuses a value that the policy beside it would silently drop.
    pub(super) fn check(&self) -> Result<(), Error> {
        let http = matches!(self.target, Some(Target::Http { .. }) | None);
        let capped = self.catch_up_policy == Some(CatchUp::RunAllCapped);
        let concurrent = self.overlap_policy == Overlap::Concurrent;
        let queue = self.overlap_policy == Overlap::Queue;
        for (field, given, fits, of) in [
            ("payload", self.payload.is_some(), http, "target type http"),
            (
                "max_concurrent",
                self.max_concurrent.is_some(),
                concurrent,
                "overlap_policy concurrent",
            ),
            ("max_queued", self.max_queued.is_some(), queue, "overlap_policy queue"),
            ("catch_up_max", self.catch_up_max.is_some(), capped, "catch_up_policy run_all_capped"),
        ] {
            if given && !fits {
                return Err(Error::input(field, &format!("only for {of}")));
            }
        }
        Ok(())
    }

    fn set_target(&mut self, kind: Option<&proto::target::Kind>) {
        if let Some(proto::target::Kind::Http(http)) = kind {
            self.payload = payload(&http.body);
            if self.payload.is_none() && !http.body.is_empty() {
                self.raw_payload = Some(http.body.clone());
            }
        }
        self.target = kind.map(Target::from);
    }

    fn set_overlap(&mut self, kind: Option<&overlap::Kind>) {
        let limit = |limit: u32| (limit > 0).then_some(limit);
        self.overlap_policy = match kind {
            None | Some(overlap::Kind::Skip(_)) => Overlap::Skip,
            Some(overlap::Kind::Concurrent(concurrent)) => {
                self.max_concurrent = limit(concurrent.max_concurrent);
                Overlap::Concurrent
            }
            Some(overlap::Kind::Queue(queue)) => {
                self.max_queued = limit(queue.max_queued);
                Overlap::Queue
            }
            Some(overlap::Kind::Replace(_)) => Overlap::Replace,
        };
    }

    fn set_catch_up(&mut self, kind: Option<&catch_up::Kind>) {
        self.catch_up_policy = kind.map(|kind| match kind {
            catch_up::Kind::Skip(_) => CatchUp::Skip,
            catch_up::Kind::RunOnce(_) => CatchUp::RunOnce,
            catch_up::Kind::RunAllCapped(capped) => {
                self.catch_up_max = Some(capped.catch_up_max);
                CatchUp::RunAllCapped
            }
        });
    }
}
