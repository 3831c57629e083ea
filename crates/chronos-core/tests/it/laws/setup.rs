//! What the laws are tried on: jobs of every cadence and policy, and what can happen to them.

use std::num::NonZeroU32;
use std::time::Duration;

use chronos_core::policy::quiet_hours::{Mode, QuietHours, WeekdaySet, Window};
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy, retry};
use chronos_core::schedule::Zone;
use chronos_core::{Error, JobId, JobSpec, PolicyId, Schedule, Timestamp};
use proptest::prelude::*;

use super::oracle::Oracle;

const SECOND: i64 = 1_000_000;

/// A job in a few numbers.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    beat: Beat,
    max_runs: Option<u64>,
    end: Option<u32>,
    overlap: OverlapPolicy,
    catch_up: CatchUpPolicy,
    grace: u64,
    jitter: u64,
    max_retry: u32,
    pub(super) quiet: Option<Mode>,
}

#[derive(Clone, Copy, Debug)]
enum Beat {
    EverySecond,
    EveryMinute,
    Interval(u32),
    FixedDelay(u32),
    OneShot(i64),
}

/// Something that happens to the job.
#[derive(Clone, Debug)]
pub(super) enum Verb {
    Plan,
    /// Until somebody resumes it, or for so many seconds.
    Pause(Option<i64>),
    Resume,
    EditPolicies(Setup),
    EditSchedule(Setup),
    /// The clock moves by this many milliseconds, also back.
    Step(i64),
    Restart,
    Claim,
    Finish(usize, Finish),
    Cancel(usize),
    RunNow,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Finish {
    Success,
    Transient,
    Permanent,
    TimedOut,
    Stuck,
    Cancelled,
    Skipped,
    Interrupted,
}

impl Setup {
    /// The schedule, and which slots it must have, counted from `now`.
    pub(super) fn schedule(&self, now: Timestamp) -> Result<(Schedule, Oracle), Error> {
        let end = self.end.map(|secs| now.after(Duration::from_secs(secs.into())));
        let grid = |origin, step: i64| Oracle::Grid { origin, step: step * SECOND, end };
        let (mut schedule, oracle) = match self.beat {
            Beat::EverySecond => {
                let oracle = grid(Timestamp::EPOCH, 1);
                (Schedule::cron("* * * * * *", Zone::UTC)?, oracle)
            }
            Beat::EveryMinute => {
                let oracle = grid(Timestamp::EPOCH, 60);
                (Schedule::cron("* * * * *", Zone::UTC)?, oracle)
            }
            Beat::Interval(secs) => {
                let every = Duration::from_secs(secs.into());
                (Schedule::interval(every, now)?, grid(now, secs.into()))
            }
            Beat::FixedDelay(secs) => {
                let every = Duration::from_secs(secs.into());
                let step = i64::from(secs) * SECOND;
                let oracle = Oracle::FromEnd { step, end };
                (Schedule::fixed_delay(every, now)?, oracle)
            }
            Beat::OneShot(secs) => {
                let at = Timestamp::from_micros(now.as_micros() + secs * SECOND);
                return Ok((Schedule::one_shot(at), Oracle::Single(at)));
            }
        };
        if let Some(end) = end {
            schedule = schedule.ending_at(end)?;
        }
        if let Some(max_runs) = self.max_runs {
            schedule = schedule.at_most(max_runs)?;
        }
        Ok((schedule, oracle))
    }

    /// The same without an end.
    pub(super) fn endless(&self) -> Self {
        Self { end: None, ..self.clone() }
    }

    /// The whole job on this schedule.
    pub(super) fn spec(&self, schedule: Schedule, created_at: Timestamp) -> JobSpec {
        let id = JobId::new(Timestamp::EPOCH, [7; 10]);
        JobSpec {
            overlap: self.overlap,
            catch_up: self.catch_up,
            misfire_grace: Duration::from_secs(self.grace),
            jitter: Duration::from_secs(self.jitter),
            retry: retry::Policy::up_to(self.max_retry),
            ..JobSpec::new(id, "law-abiding", schedule, created_at)
        }
    }
}

/// Quiet from 12:00 to 12:05 every day, in UTC.
pub(super) fn quiet_hours(mode: Mode) -> QuietHours {
    let Ok(window) = Window::new(WeekdaySet::EVERY_DAY, "12:00", "12:05") else {
        panic!("the window is a sensible one");
    };
    let id = PolicyId::new(Timestamp::EPOCH, [0; 10]);
    let policy = QuietHours::new(id, "lunch", Zone::UTC, Timestamp::EPOCH);
    QuietHours { windows: vec![window], mode, ..policy }
}

/// Whether it is quiet then, by the clock on the wall.
pub(super) fn is_quiet(at: Timestamp) -> bool {
    (12 * 3_600..12 * 3_600 + 300).contains(&at.as_secs().rem_euclid(86_400))
}

pub(super) fn any_setup() -> impl Strategy<Value = Setup> {
    let beat = prop_oneof![
        Just(Beat::EverySecond),
        Just(Beat::EveryMinute),
        (1_u32..200).prop_map(Beat::Interval),
        (1_u32..200).prop_map(Beat::FixedDelay),
        (-300_i64..900).prop_map(Beat::OneShot),
    ];
    let few = (1_u32..4).prop_map(|few| NonZeroU32::new(few).unwrap_or(NonZeroU32::MIN));
    let overlap = prop_oneof![
        Just(OverlapPolicy::Skip),
        Just(OverlapPolicy::Concurrent),
        few.clone().prop_map(OverlapPolicy::ConcurrentUpTo),
        few.clone().prop_map(OverlapPolicy::Queue),
        Just(OverlapPolicy::Replace),
    ];
    let catch_up = prop_oneof![
        Just(CatchUpPolicy::Skip),
        Just(CatchUpPolicy::RunOnce),
        few.prop_map(CatchUpPolicy::RunAllCapped),
    ];
    let quiet = prop::option::of(prop_oneof![Just(Mode::Skip), Just(Mode::Defer)]);
    (
        beat,
        prop::option::weighted(0.2, 1_u64..20),
        prop::option::weighted(0.2, 1_u32..1_000),
        overlap,
        catch_up,
        prop_oneof![Just(0_u64), Just(10), Just(30)],
        prop_oneof![Just(0_u64), Just(5), Just(600)],
        0_u32..3,
        quiet,
    )
        .prop_map(
            |(beat, max_runs, end, overlap, catch_up, grace, jitter, max_retry, quiet)| Setup {
                beat,
                max_runs,
                end,
                overlap,
                catch_up,
                grace,
                jitter,
                max_retry,
                quiet,
            },
        )
}

pub(super) fn any_verb() -> impl Strategy<Value = Verb> {
    let finish = prop_oneof![
        3 => Just(Finish::Success),
        3 => Just(Finish::Transient),
        1 => Just(Finish::Permanent),
        1 => Just(Finish::TimedOut),
        2 => Just(Finish::Stuck),
        1 => Just(Finish::Cancelled),
        1 => Just(Finish::Skipped),
        2 => Just(Finish::Interrupted),
    ];
    prop_oneof![
        10 => Just(Verb::Plan),
        2 => prop::option::of(1_i64..400).prop_map(Verb::Pause),
        2 => Just(Verb::Resume),
        1 => any_setup().prop_map(Verb::EditPolicies),
        1 => any_setup().prop_map(Verb::EditSchedule),
        8 => (0_i64..90_000).prop_map(Verb::Step),
        1 => (0_i64..7_200_000).prop_map(Verb::Step),
        1 => (-600_000_i64..0).prop_map(Verb::Step),
        1 => Just(Verb::Restart),
        8 => Just(Verb::Claim),
        8 => (any::<usize>(), finish).prop_map(|(which, finish)| Verb::Finish(which, finish)),
        2 => any::<usize>().prop_map(Verb::Cancel),
        3 => Just(Verb::RunNow),
    ]
}
