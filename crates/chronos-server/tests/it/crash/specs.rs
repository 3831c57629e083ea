//! What the jobs of the crash test ask for, so that their slots can be told without the scheduler.

use std::time::Duration;

use chronos_core::Timestamp;
use chronos_server::proto::catch_up_policy::{self, Kind as CatchUp};
use chronos_server::proto::overlap_policy::{self, Kind as Overlap};
use chronos_server::proto::schedule::Cadence;
use chronos_server::proto::target::Kind as Target;
use chronos_server::proto::{self, CatchUpPolicy, Cron, Http, JobSpec, OverlapPolicy, Schedule};

/// When a job's slots are: enough to count them from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rhythm {
    /// Every whole second of its odd versions, every other one of its even versions.
    ByVersion,
    /// Every so many seconds.
    Every(i64),
    /// At this instant, once.
    Once(Timestamp),
}

impl Rhythm {
    /// Whether the instant is a slot of a job that has this version then.
    pub(crate) fn strikes(self, at: Timestamp, version: u64) -> bool {
        let step = match self {
            Self::Once(once) => return at == once,
            Self::Every(seconds) => seconds,
            Self::ByVersion if version % 2 == 1 => 1,
            Self::ByVersion => 2,
        };
        at.as_micros() % (step * 1_000_000) == 0
    }

    fn schedule(self, version: u64) -> Schedule {
        let expression = match self {
            Self::Once(at) => {
                let at = prost_types::Timestamp { seconds: at.as_secs(), nanos: 0 };
                return Schedule { cadence: Some(Cadence::OneShot(at)), ..Schedule::default() };
            }
            Self::ByVersion if version % 2 == 1 => "* * * * * *".into(),
            Self::ByVersion => "*/2 * * * * *".into(),
            Self::Every(seconds) => format!("*/{seconds} * * * * *"),
        };
        let cron = Cron { expression, timezone: String::new() };
        Schedule { cadence: Some(Cadence::Cron(cron)), ..Schedule::default() }
    }
}

/// A job of this name in this version. Its number chooses the policies, so that a few dozen jobs
/// meet every combination of them.
pub(crate) fn spec(name: &str, number: usize, rhythm: Rhythm, version: u64, url: &str) -> JobSpec {
    let catch_up = match number % 3 {
        0 => CatchUp::Skip(catch_up_policy::Skip {}),
        1 => CatchUp::RunOnce(catch_up_policy::RunOnce {}),
        _ => CatchUp::RunAllCapped(catch_up_policy::RunAllCapped { catch_up_max: 5 }),
    };
    // A late one-time job runs late, whatever the others do.
    let catch_up = (!matches!(rhythm, Rhythm::Once(_))).then_some(catch_up);
    let http = Http { url: url.into(), ..Http::default() };
    JobSpec {
        name: name.into(),
        schedule: Some(rhythm.schedule(version)),
        target: Some(proto::Target { kind: Some(Target::Http(http)) }),
        overlap_policy: Some(OverlapPolicy { kind: Some(overlap(number)) }),
        catch_up_policy: Some(CatchUpPolicy { kind: catch_up }),
        // With a short grace, the slots of every downtime are missed ones.
        misfire_grace: number.is_multiple_of(2).then(|| span(Duration::from_millis(20))),
        max_retry: 2,
        retry_base: Some(span(Duration::from_millis(100))),
        retry_max: Some(span(Duration::from_millis(200))),
        ..JobSpec::default()
    }
}

/// The same job, which says its slot instead.
pub(crate) fn saying(spec: JobSpec) -> JobSpec {
    let message = proto::MessageTemplate { text: "{{slot}}".into(), structured: String::new() };
    let target = proto::Target { kind: Some(Target::Message(message)) };
    JobSpec { target: Some(target), max_retry: 0, ..spec }
}

fn overlap(number: usize) -> Overlap {
    match number / 6 % 4 {
        0 => Overlap::Skip(overlap_policy::Skip {}),
        1 => Overlap::Concurrent(overlap_policy::Concurrent { max_concurrent: 0 }),
        2 => Overlap::Queue(overlap_policy::Queue { max_queued: 3 }),
        _ => Overlap::Replace(overlap_policy::Replace {}),
    }
}

fn span(span: Duration) -> prost_types::Duration {
    span.try_into().unwrap()
}
