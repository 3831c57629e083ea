//! What the histories are made of: jobs of every cadence and policy in zones that change their clocks, quiet
//! hours, and what can happen.

use std::num::NonZeroU32;
use std::time::Duration;

use chrono::{Datelike, NaiveDate, Weekday};
use chrono_tz::Tz;
use chronos_core::message::Template;
use chronos_core::policy::quiet_hours::{Exception, Mode, QuietHours, WeekdaySet, Window};
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};
use chronos_core::schedule::Zone;
use chronos_core::{Error, JobId, JobSpec, PolicyId, Schedule, Timestamp};
use proptest::prelude::*;

use super::cron_oracle::{Generated, generated};
use super::slots::SECOND;

/// From when to when a history may go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
}

/// A whole history.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) span: Span,
    pub(super) quiet: Vec<Quiet>,
    pub(super) jobs: Vec<Setup>,
    pub(super) steps: Vec<Step>,
}

/// A job in a few numbers.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) beat: Beat,
    /// Whether it says something instead of calling a handler.
    pub(super) says: bool,
    pub(super) overlap: Overlap,
    pub(super) catch_up: CatchUp,
    /// In seconds.
    pub(super) grace: i64,
    /// In seconds.
    pub(super) window: Option<i64>,
    /// Seconds after it is made.
    start: Option<i64>,
    /// Seconds after its start.
    end: Option<i64>,
    pub(super) max_runs: Option<u64>,
    /// Which of the policies it observes.
    pub(super) quiet: Option<usize>,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there are few of them")]
pub(super) enum Beat {
    Cron(Generated, Tz),
    Every(u32),
    AfterEnd(u32),
    /// So many seconds after it is made, also before.
    Once(i64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Overlap {
    Skip,
    Concurrent,
    Queue(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CatchUp {
    Skip,
    Once,
    All(u32),
}

/// A quiet-hours policy in a few numbers.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    pub(super) zone: Tz,
    pub(super) windows: Vec<QuietWindow>,
    /// Dates apart, and whether each is open.
    pub(super) exceptions: Vec<(NaiveDate, bool)>,
    pub(super) defers: bool,
}

/// Minutes of the day, on the weekdays whose bits are set.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuietWindow {
    pub(super) days: u8,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Something that happens, so many microseconds after what happened before; also before it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) later: i64,
    pub(super) verb: Verb,
}

#[derive(Clone, Debug)]
pub(super) enum Verb {
    /// Somebody looks at what is due.
    Fire,
    /// The store is closed and opened again.
    Restart,
    /// With a note, and for so many seconds.
    Pause(usize, bool, Option<i64>),
    Resume(usize),
    Disable(usize),
    Enable(usize),
    RunNow(usize),
    /// All of it, or its policies alone.
    Edit(usize, Box<Setup>, bool),
    EditQuiet(usize, Quiet),
}

impl Setup {
    pub(super) fn start(&self, begun: Timestamp) -> Option<Timestamp> {
        let start = self.start.filter(|_| self.is_bounded());
        start.map(|later| Timestamp::from_micros(begun.as_micros() + later * SECOND))
    }

    pub(super) fn end(&self, begun: Timestamp) -> Option<Timestamp> {
        let end = self.end.filter(|_| self.is_bounded());
        let from = self.start(begun).unwrap_or(begun).as_micros();
        end.map(|later| Timestamp::from_micros(from + later * SECOND))
    }

    fn is_bounded(&self) -> bool {
        matches!(self.beat, Beat::Cron(..) | Beat::Every(_))
    }

    pub(super) fn is_recurring(&self) -> bool {
        !matches!(self.beat, Beat::Once(_))
    }

    /// The same policies on another schedule.
    pub(super) fn on_schedule_of(self, other: &Self) -> Self {
        let Self { beat, start, end, max_runs, .. } = other.clone();
        let says = self.says || !matches!(beat, Beat::Cron(..) | Beat::Every(_));
        Self { beat, says, start, end, max_runs, ..self }
    }

    fn schedule(&self, begun: Timestamp) -> Result<Schedule, Error> {
        let secs = |seconds: &u32| Duration::from_secs(u64::from(*seconds));
        let mut schedule = match &self.beat {
            Beat::Cron(cron, zone) => Schedule::cron(&cron.text, Zone::parse(zone.name())?)?,
            Beat::Every(seconds) => Schedule::interval(secs(seconds), begun)?,
            Beat::AfterEnd(seconds) => Schedule::fixed_delay(secs(seconds), begun)?,
            Beat::Once(later) => {
                let at = Timestamp::from_micros(begun.as_micros() + later * SECOND);
                return Ok(Schedule::one_shot(at));
            }
        };
        if let Some(start) = self.start(begun) {
            schedule = schedule.starting_at(start)?;
        }
        if let Some(end) = self.end(begun) {
            schedule = schedule.ending_at(end)?;
        }
        if let Some(runs) = self.max_runs {
            schedule = schedule.at_most(runs)?;
        }
        Ok(schedule)
    }

    /// The job as the store is given it.
    pub(super) fn spec(&self, number: usize, begun: Timestamp) -> JobSpec {
        let spec =
            JobSpec::new(job_id(number), &job_name(number), self.schedule(begun).unwrap(), begun);
        let few = |few: u32| NonZeroU32::new(few).unwrap();
        let seconds = |seconds: i64| Duration::from_secs(seconds.unsigned_abs());
        let spec = JobSpec {
            overlap: match self.overlap {
                Overlap::Skip => OverlapPolicy::Skip,
                Overlap::Concurrent => OverlapPolicy::Concurrent,
                Overlap::Queue(most) => OverlapPolicy::Queue(few(most)),
            },
            catch_up: match self.catch_up {
                CatchUp::Skip => CatchUpPolicy::Skip,
                CatchUp::Once => CatchUpPolicy::RunOnce,
                CatchUp::All(most) => CatchUpPolicy::RunAllCapped(few(most)),
            },
            misfire_grace: seconds(self.grace),
            catch_up_window: self.window.map(seconds),
            quiet_hours: self.quiet.map(policy_id),
            ..spec
        };
        if self.says {
            let text = "{{slot}} at {{now}}, missed {{missed_count}}";
            return spec.with_target(Template::new(Some(text), None).unwrap());
        }
        spec
    }
}

impl Quiet {
    /// The policy as the store is given it.
    pub(super) fn policy(&self, number: usize, at: Timestamp) -> QuietHours {
        let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
        let zone = Zone::parse(self.zone.name()).unwrap();
        let policy = QuietHours::new(policy_id(number), &format!("quiet {number}"), zone, at);
        let window = |window: &QuietWindow| {
            let days: Vec<Weekday> = (0..7)
                .filter(|day| window.days & (1 << day) != 0)
                .map(|day| Weekday::try_from(day).unwrap())
                .collect();
            Window::new(WeekdaySet::of(&days), &clock(window.start), &clock(window.end)).unwrap()
        };
        let exception = |(date, open): &(NaiveDate, bool)| {
            ((*date).into(), if *open { Exception::Open } else { Exception::Quiet })
        };
        QuietHours {
            windows: self.windows.iter().map(window).collect(),
            exceptions: self.exceptions.iter().map(exception).collect(),
            mode: if self.defers { Mode::Defer } else { Mode::Skip },
            ..policy
        }
    }
}

pub(super) fn job_id(number: usize) -> JobId {
    JobId::new(Timestamp::from_secs(1_760_000_000), [u8::try_from(number).unwrap(); 10])
}

fn job_name(number: usize) -> String {
    format!("job {number}")
}

fn policy_id(number: usize) -> PolicyId {
    PolicyId::new(Timestamp::from_secs(1_760_000_000), [u8::try_from(number).unwrap(); 10])
}

/// Instants shortly before clocks are changed somewhere, and one at which they are not.
static BEGINNINGS: [&str; 8] = [
    "2026-03-28T21:00:00Z",
    "2026-10-24T21:00:00Z",
    "2026-03-07T20:00:00Z",
    "2026-10-31T20:00:00Z",
    "2026-04-04T09:00:00Z",
    "2026-10-03T09:00:00Z",
    "2026-09-05T20:00:00Z",
    "2026-06-15T11:30:00Z",
];

static ZONES: [Tz; 6] = [
    Tz::UTC,
    Tz::Europe__Berlin,
    Tz::America__New_York,
    Tz::Australia__Lord_Howe,
    Tz::America__Santiago,
    Tz::Asia__Kolkata,
];

/// How long the steps of a history are: seconds with slots every second, or hours with slots every minute.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// The longest step, in seconds.
    longest: i64,
    steps: usize,
}

static SCALES: [Scale; 2] =
    [Scale { longest: 400, steps: 14 }, Scale { longest: 12 * 3_600, steps: 9 }];

pub(super) fn history() -> impl Strategy<Value = History> {
    let beginning = (prop::sample::select(&BEGINNINGS[..]), 0_i64..20_000);
    (prop::sample::select(&SCALES[..]), beginning).prop_flat_map(|(scale, (beginning, later))| {
        let start = Timestamp::parse(beginning).unwrap().after(Duration::from_millis(
            later.unsigned_abs() * 1_000 + later.unsigned_abs() % 7 * 100,
        ));
        let whole = scale.longest * i64::try_from(scale.steps + 2).unwrap();
        let end = Timestamp::from_micros(start.as_micros() + whole * SECOND);
        let span = Span { start, end };
        let jobs = prop::collection::vec(setup(scale, span), 1..3);
        let steps = prop::collection::vec(step(scale, span), 1..scale.steps);
        let quiet = prop::collection::vec(quiet(span), 2);
        (jobs, steps, quiet).prop_map(move |(jobs, steps, quiet)| History {
            span,
            quiet,
            jobs,
            steps,
        })
    })
}

fn setup(scale: Scale, span: Span) -> impl Strategy<Value = Setup> {
    let overlap = prop_oneof![
        2 => Just(Overlap::Skip),
        2 => Just(Overlap::Concurrent),
        1 => (1_u32..3).prop_map(Overlap::Queue),
    ];
    let catch_up =
        prop_oneof![Just(CatchUp::Skip), Just(CatchUp::Once), (1_u32..6).prop_map(CatchUp::All),];
    let grace = prop::sample::select(vec![0_i64, 10, 10, 90]);
    let window = prop::option::weighted(0.3, 1..scale.longest * 2);
    let start = prop::option::weighted(0.2, 0..scale.longest);
    let end = prop::option::weighted(0.3, 1..scale.longest * 4);
    let max_runs = prop::option::weighted(0.2, 1_u64..12);
    let quiet = prop::option::weighted(0.5, 0_usize..2);
    let rest = (grace, window, start, end, max_runs, quiet, prop::bool::weighted(0.7));
    (beat(scale, span), overlap, catch_up, rest).prop_map(
        |(beat, overlap, catch_up, (grace, window, start, end, max_runs, quiet, says))| {
            // A run that somebody must make ends when it ends, which is not what this is about.
            let says = says || !matches!(beat, Beat::Cron(..) | Beat::Every(_));
            Setup { beat, says, overlap, catch_up, grace, window, start, end, max_runs, quiet }
        },
    )
}

fn beat(scale: Scale, span: Span) -> impl Strategy<Value = Beat> {
    let is_short = scale.longest < 3_600;
    let (shortest, longest) = if is_short { (1_u32, 200) } else { (30, 20_000) };
    let cron = (generated(), prop::sample::select(&ZONES[..]));
    let cron = cron.prop_filter("it must fire now and then", move |(cron, zone)| {
        let seconds_fit = is_short || !cron.with_seconds;
        let until = span.end.as_secs().min(span.start.as_secs() + 86_400);
        seconds_fit && !cron.slots(*zone, span.start.as_secs(), until).is_empty()
    });
    prop_oneof![
        5 => cron.prop_map(|(cron, zone)| Beat::Cron(cron, zone)),
        3 => (shortest..longest).prop_map(Beat::Every),
        1 => (shortest..longest).prop_map(Beat::AfterEnd),
        1 => (-scale.longest..scale.longest * 3).prop_map(Beat::Once),
    ]
}

fn quiet(span: Span) -> impl Strategy<Value = Quiet> {
    let window = (1_u8..128, 0_u32..1_440, 0_u32..1_440)
        .prop_filter("it starts and ends at one time", |(_, start, end)| start != end)
        .prop_map(|(days, start, end)| QuietWindow { days, start, end });
    let date = span.start.to_datetime().date_naive();
    (
        prop::sample::select(&ZONES[..]),
        prop::collection::vec(window, 0..3),
        prop::collection::btree_map(-1_i32..5, any::<bool>(), 0..3),
        any::<bool>(),
    )
        .prop_map(move |(zone, windows, exceptions, defers)| {
            let on = |later: i32| {
                NaiveDate::from_num_days_from_ce_opt(date.num_days_from_ce() + later).unwrap()
            };
            let exceptions = exceptions.into_iter().map(|(later, open)| (on(later), open));
            Quiet { zone, windows, exceptions: exceptions.collect(), defers }
        })
}

fn step(scale: Scale, span: Span) -> impl Strategy<Value = Step> {
    let longest = scale.longest * SECOND;
    let later = prop_oneof![
        4 => 0..longest / 20,
        3 => 0..longest,
        // Clocks are put back.
        1 => -longest / 10..0,
        1 => Just(0),
    ];
    let job = 0_usize..2;
    let verb = prop_oneof![
        8 => Just(Verb::Fire),
        1 => Just(Verb::Restart),
        2 => (job.clone(), any::<bool>(), prop::option::of(1..scale.longest))
            .prop_map(|(job, note, span)| Verb::Pause(job, note, span)),
        2 => job.clone().prop_map(Verb::Resume),
        1 => job.clone().prop_map(Verb::Disable),
        1 => job.clone().prop_map(Verb::Enable),
        1 => job.clone().prop_map(Verb::RunNow),
        2 => (job, setup(scale, span), any::<bool>())
            .prop_map(|(job, setup, all)| Verb::Edit(job, Box::new(setup), all)),
        1 => (0_usize..2, quiet(span)).prop_map(|(number, quiet)| Verb::EditQuiet(number, quiet)),
    ];
    (later, verb).prop_map(|(later, verb)| Step { later, verb })
}
