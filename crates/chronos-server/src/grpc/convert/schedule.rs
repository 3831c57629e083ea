//! Schedules: when a job's slots are.

use std::time::Duration;

use chronos_core::schedule::{Cadence, Cron, Interval, Schedule, Zone};
use chronos_core::{Error, Timestamp};

use super::time::{instant, timestamp};
use crate::grpc::refusal::Refusal;
use crate::proto;
use crate::proto::schedule::Cadence as Sent;

/// The schedule that was asked for; an interval is counted from `now`.
pub(crate) fn read(
    asked: proto::Schedule,
    zone: Zone,
    now: Timestamp,
) -> Result<Schedule, Refusal> {
    let accepted = "cron, interval or one_shot";
    let cadence = asked.cadence.ok_or_else(|| Refusal::missing("cadence", accepted))?;
    let mut schedule = match cadence {
        Sent::Cron(cron) => self::cron(&cron, zone)?,
        Sent::Interval(interval) => {
            let every = Duration::from_secs(interval.seconds);
            let read = if interval.fixed_delay {
                Schedule::fixed_delay(every, now)
            } else {
                Schedule::interval(every, now)
            };
            read.map_err(|error| Refusal::of("interval.seconds", error.to_string()))?
        }
        Sent::OneShot(at) => Schedule::one_shot(instant("one_shot", at)?),
    };
    let refused = |field| move |error: Error| Refusal::of(field, error.to_string());
    if let Some(start) = asked.start_at {
        let start = instant("start_at", start)?;
        schedule = schedule.starting_at(start).map_err(refused("start_at"))?;
    }
    if let Some(end) = asked.end_at {
        let end = instant("end_at", end)?;
        schedule = schedule.ending_at(end).map_err(refused("end_at"))?;
    }
    if asked.max_runs > 0 {
        schedule = schedule.at_most(asked.max_runs).map_err(refused("max_runs"))?;
    }
    Ok(schedule)
}

fn cron(asked: &proto::Cron, default: Zone) -> Result<Schedule, Refusal> {
    let zone = match asked.timezone.as_str() {
        "" => default,
        name => {
            Zone::parse(name).map_err(|error| Refusal::of("cron.timezone", error.to_string()))?
        }
    };
    let cron = Cron::parse(&asked.expression, zone);
    let cron = cron.map_err(|error| Refusal::of("cron.expression", error.to_string()))?;
    Ok(Cadence::Cron(cron).into())
}

impl From<&Schedule> for proto::Schedule {
    fn from(schedule: &Schedule) -> Self {
        let cadence = match schedule.cadence() {
            Cadence::Cron(cron) => Sent::Cron(proto::Cron {
                expression: cron.expression().into(),
                timezone: cron.zone().name().into(),
            }),
            Cadence::Interval(interval) => Sent::Interval(proto::Interval {
                seconds: Interval::every(interval).as_secs(),
                fixed_delay: schedule.counts_from_end(),
            }),
            Cadence::OneShot(at) => Sent::OneShot(timestamp(*at)),
        };
        Self {
            cadence: Some(cadence),
            start_at: schedule.start_at().map(timestamp),
            end_at: schedule.end_at().map(timestamp),
            max_runs: schedule.max_runs().map_or(0, u64::from),
        }
    }
}
