//! The verbs of a random history, and the jobs they are about.

use std::time::Duration;

use chronos_core::backfill::Switch;
use chronos_core::execution::Failure;
use chronos_core::notice::{Notify, Occasions};
use chronos_core::plan::Ending;
use chronos_core::policy::quiet_hours::{Mode, WeekdaySet, Window};
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy, QuietHours, retry};
use chronos_core::schedule::Zone;
use chronos_core::{Http, JobId, JobSpec, PolicyId, Schedule};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::bench::at;
use crate::conformance::messages::says;

/// A verb, some seconds after the one before.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) later: i64,
    pub(super) verb: Verb,
}

/// Picks one of however many there are.
type Pick = u8;

#[derive(Clone, Debug)]
pub(super) enum Verb {
    Create(Pick, Traits),
    Edit(Pick, Pick, Traits),
    /// Until somebody resumes it, or for so many seconds.
    Pause(Pick, Option<i64>),
    Resume(Pick),
    Disable(Pick),
    Enable(Pick),
    Redrive(Pick),
    Delete(Pick),
    /// Fires up to so many jobs, for a worker that has room for so many runs, if there is one.
    Fire(usize, Option<usize>),
    RunNow(Pick),
    Claim(usize),
    Renew(Vec<Pick>),
    Finish(Vec<(Pick, Ending)>),
    Release(Vec<Pick>),
    Reap(usize),
    Cancel(Pick),
    SaveCheckpoint(Pick, u8),
    /// Asks for so many seconds of a job's past.
    Backfill(Pick, i64, Pace),
    SwitchBackfill(Pick, Switch),
    Advance(usize),
    PutPolicy(Mode),
    DeletePolicy,
    Restart,
}

/// How a backfill goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) force: bool,
    pub(super) newest_first: bool,
    pub(super) at_once: u32,
    pub(super) per_minute: Option<u32>,
}

fn pace() -> impl Strategy<Value = Pace> {
    let per_minute = option::of(prop_oneof![Just(6_u32), Just(60)]);
    (any::<(bool, bool)>(), 1..4_u32, per_minute).prop_map(|(which, at_once, per_minute)| {
        let (force, newest_first) = which;
        Pace { force, newest_first, at_once, per_minute }
    })
}

/// What tells one job from another.
#[derive(Clone, Debug)]
pub(super) struct Traits {
    cadence: Cadence,
    overlap: OverlapPolicy,
    catch_up: CatchUpPolicy,
    jitter: u64,
    max_retry: u32,
    max_execution_time: Option<u64>,
    quiet: bool,
    told: bool,
    says: bool,
    tags: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
enum Cadence {
    Every(u64),
    AfterEnd(u64),
    Once(i64),
}

/// The names that jobs compete for.
pub(super) const NAMES: [&str; 3] = ["ant", "bee", "cow"];

impl Traits {
    pub(super) fn spec(&self, id: JobId, name: Pick, second: i64) -> JobSpec {
        let seconds = Duration::from_secs;
        let schedule = match self.cadence {
            Cadence::Every(every) => Schedule::interval(seconds(every), at(second)).unwrap(),
            Cadence::AfterEnd(every) => Schedule::fixed_delay(seconds(every), at(second)).unwrap(),
            Cadence::Once(later) => Schedule::one_shot(at(second + later)),
        };
        let name = NAMES[usize::from(name) % NAMES.len()];
        let spec = JobSpec::new(id, name, schedule, at(second));
        let spec = if self.says { says(spec) } else { spec };
        JobSpec {
            overlap: self.overlap,
            catch_up: self.catch_up,
            jitter: seconds(if self.says { 0 } else { self.jitter }),
            retry: retry::Policy::up_to(self.max_retry),
            max_execution_time: self.max_execution_time.map(seconds),
            quiet_hours: self.quiet.then(policy_id),
            notify: self.told.then(notify),
            ..spec.with_tags(self.tags.iter().copied())
        }
    }
}

/// Everything is told, at once.
fn notify() -> Box<Notify> {
    let on = Occasions { overdue: Some(Duration::from_secs(20)), ..Occasions::default() };
    Box::new(Notify { webhook: Http::new("https://example.com").ok(), on })
}

pub(super) fn policy_id() -> PolicyId {
    PolicyId::new(at(0), [7; 10])
}

/// Quiet from the third to the sixth minute of every hour.
pub(super) fn policy(mode: Mode) -> QuietHours {
    QuietHours {
        windows: vec![Window::new(WeekdaySet::EVERY_DAY, "00:03", "00:06").unwrap()],
        mode,
        ..QuietHours::new(policy_id(), "pause for breath", Zone::UTC, at(0))
    }
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    (later(), verb()).prop_map(|(later, verb)| Step { later, verb })
}

/// Clocks step back now and then.
fn later() -> impl Strategy<Value = i64> {
    prop_oneof![6 => Just(0_i64), 12 => 1..12_i64, 4 => 12..90_i64, 1 => -40..0_i64]
}

fn verb() -> impl Strategy<Value = Verb> {
    let pick = any::<Pick>;
    let limit = || prop_oneof![1 => 1..3_usize, 3 => Just(100_usize)];
    let mode = prop_oneof![Just(Mode::Skip), Just(Mode::Defer)];
    prop_oneof![
        4 => (pick(), traits()).prop_map(|(name, traits)| Verb::Create(name, traits)),
        1 => (pick(), pick(), traits())
            .prop_map(|(job, name, traits)| Verb::Edit(job, name, traits)),
        1 => (pick(), option::of(1..60_i64)).prop_map(|(job, span)| Verb::Pause(job, span)),
        1 => pick().prop_map(Verb::Resume),
        1 => pick().prop_map(Verb::Disable),
        1 => pick().prop_map(Verb::Enable),
        1 => pick().prop_map(Verb::Redrive),
        1 => pick().prop_map(Verb::Delete),
        10 => (limit(), option::of(limit())).prop_map(|(limit, room)| Verb::Fire(limit, room)),
        2 => pick().prop_map(Verb::RunNow),
        10 => limit().prop_map(Verb::Claim),
        2 => vec(pick(), 0..3).prop_map(Verb::Renew),
        8 => vec((pick(), ending()), 1..4).prop_map(Verb::Finish),
        2 => vec(pick(), 0..3).prop_map(Verb::Release),
        3 => limit().prop_map(Verb::Reap),
        2 => pick().prop_map(Verb::Cancel),
        1 => (pick(), any::<u8>()).prop_map(|(hold, byte)| Verb::SaveCheckpoint(hold, byte)),
        3 => (pick(), 1..200_i64, pace())
            .prop_map(|(job, past, pace)| Verb::Backfill(job, past, pace)),
        1 => (pick(), switch()).prop_map(|(pick, switch)| Verb::SwitchBackfill(pick, switch)),
        6 => limit().prop_map(Verb::Advance),
        1 => mode.prop_map(Verb::PutPolicy),
        1 => Just(Verb::DeletePolicy),
        1 => Just(Verb::Restart),
    ]
}

fn switch() -> impl Strategy<Value = Switch> {
    prop_oneof![1 => Just(Switch::Pause), 2 => Just(Switch::Resume), 1 => Just(Switch::Cancel)]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        4 => Just(Ending::Success),
        4 => Just(Ending::Failed(Failure::transient("down"))),
        1 => Just(Ending::Failed(Failure::permanent("no"))),
        1 => Just(Ending::TimedOut),
        1 => Just(Ending::Cancelled),
        1 => Just(Ending::Skipped("nothing to do".into())),
        1 => Just(Ending::Interrupted),
    ]
}

fn traits() -> impl Strategy<Value = Traits> {
    let cadence = prop_oneof![
        3 => prop_oneof![Just(5_u64), Just(10), Just(40)].prop_map(Cadence::Every),
        1 => Just(Cadence::AfterEnd(10)),
        1 => (-5..20_i64).prop_map(Cadence::Once),
    ];
    let two = || 2.try_into().unwrap();
    let overlap = prop_oneof![
        2 => Just(OverlapPolicy::Skip),
        1 => Just(OverlapPolicy::Concurrent),
        1 => Just(OverlapPolicy::ConcurrentUpTo(two())),
        2 => Just(OverlapPolicy::QUEUE),
        1 => Just(OverlapPolicy::Queue(two())),
        2 => Just(OverlapPolicy::Replace),
    ];
    let catch_up = prop_oneof![
        Just(CatchUpPolicy::Skip),
        Just(CatchUpPolicy::RunOnce),
        Just(CatchUpPolicy::run_all_capped(2).unwrap()),
    ];
    let jitter = prop_oneof![Just(0_u64), Just(4)];
    let max_execution_time = proptest::option::of(Just(20_u64));
    let tags = prop_oneof![Just(&[][..]), Just(&["red"][..]), Just(&["blue", "red"][..])];
    let rest = (jitter, 0..3_u32, max_execution_time, any::<(bool, bool, bool)>(), tags);
    (cadence, overlap, catch_up, rest).prop_map(|(cadence, overlap, catch_up, rest)| {
        let (jitter, max_retry, max_execution_time, (quiet, told, says), tags) = rest;
        Traits {
            cadence,
            overlap,
            catch_up,
            jitter,
            max_retry,
            max_execution_time,
            quiet,
            told,
            says,
            tags,
        }
    })
}
