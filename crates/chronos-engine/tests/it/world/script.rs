//! Scripts: the jobs and the events of one history, generated from its seed before anything runs.

use std::num::NonZeroU32;
use std::time::Duration;

use chronos_core::policy::quiet_hours::{Mode, WeekdaySet, Window};
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy, QuietHours, retry};
use chronos_core::schedule::Zone;
use chronos_core::{JobId, JobSpec, PolicyId, Schedule, Timestamp, WorkerId};
use chronos_engine::run::EngineConfig;
use fastrand::Rng;

use super::oracle::Oracle;

/// When every history begins: a Sunday, five minutes before the first quiet window.
pub(super) const ORIGIN: &str = "2026-11-15T12:00:00Z";

/// Everything that will be done in one history.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) seed: u64,
    pub(super) engines: usize,
    pub(super) length: Duration,
    pub(super) terms: EngineTerms,
    /// Out of a thousand store calls, how many go wrong.
    pub(super) fault_rate: u64,
    pub(super) policies: Vec<QuietHours>,
    pub(super) events: Vec<(Duration, Event)>,
}

/// How the engines of a history are configured.
#[derive(Clone, Copy, Debug)]
pub(super) struct EngineTerms {
    pub(super) lease: Duration,
    pub(super) heartbeat: Duration,
    pub(super) margin: Duration,
    pub(super) cancel_grace: Duration,
    pub(super) max_concurrency: usize,
    pub(super) batch: usize,
}

impl EngineTerms {
    pub(super) fn config(&self, worker: &WorkerId) -> EngineConfig {
        EngineConfig {
            lease: self.lease,
            heartbeat: self.heartbeat,
            lease_margin: self.margin,
            cancel_grace: self.cancel_grace,
            max_concurrency: self.max_concurrency,
            batch: self.batch,
            ..EngineConfig::new(worker.clone())
        }
    }
}

/// Something that happens to the world. Jobs and engines are named by number.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Create(Box<JobScript>),
    Edit(usize, Box<JobScript>),
    /// Changes a policy of the job and leaves its schedule alone.
    Tune(usize, OverlapPolicy),
    /// Until somebody resumes it, or for so long.
    Pause(usize, Option<Duration>),
    Resume(usize),
    Delete(usize),
    RunNow(usize),
    CancelNewest(usize),
    StepClock(i64),
    Kill(usize),
    Stop(usize, Duration),
    Restart(usize),
    Freeze(usize),
    Thaw(usize),
    Outage(bool),
}

/// A job as it will be asked for.
#[derive(Clone, Debug)]
pub(super) struct JobScript {
    cadence: Cadence,
    overlap: OverlapPolicy,
    catch_up: CatchUpPolicy,
    grace: Duration,
    jitter: Duration,
    retry: retry::Policy,
    max_execution_time: Option<Duration>,
    quiet_hours: Option<PolicyId>,
    ends_after: Option<Duration>,
    max_runs: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Cadence {
    /// `*/n * * * * *`, where n divides 60.
    EverySeconds(u32),
    /// `*/n * * * *`, where n divides 60.
    EveryMinutes(u32),
    /// `m * * * *` in a zone half an hour off.
    HourlyInKolkata(u32),
    Interval(u64),
    FixedDelay(u64),
    /// Seconds from the moment of creation, which may be past.
    OneShot(i64),
}

const CAPACITIES: [NonZeroU32; 2] = [NonZeroU32::MIN, NonZeroU32::new(2).unwrap()];

impl Script {
    pub(super) fn generate(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let engines = rng.usize(2..=4);
        let length = Duration::from_secs(rng.u64(480..=1_200));
        let lease = rng.u64(12..=30);
        let terms = EngineTerms {
            lease: Duration::from_secs(lease),
            heartbeat: Duration::from_secs(rng.u64(lease / 6..=lease / 3)),
            margin: Duration::from_secs(2),
            cancel_grace: Duration::from_secs(rng.u64(1..=10)),
            max_concurrency: rng.usize(2..=8),
            batch: rng.usize(1..=8),
        };
        let policies = policies();
        let mut events: Vec<(Duration, Event)> = (0..rng.usize(2..=6))
            .map(|_| {
                let job = JobScript::generate(&mut rng, &policies);
                (Duration::ZERO, Event::Create(Box::new(job)))
            })
            .collect();
        for _ in 0..rng.usize(10..=40) {
            let at = Duration::from_millis(rng.u64(1..length.as_secs() * 1_000));
            script_event(&mut rng, &policies, engines, terms.lease, at, &mut events);
        }
        events.sort_by_key(|(at, _)| *at);
        Self {
            seed,
            engines,
            length,
            terms,
            fault_rate: if rng.u8(..4) == 0 { 0 } else { rng.u64(1..=60) },
            policies,
            events,
        }
    }
}

/// Adds an event and, where it must be undone, its undoing.
fn script_event(
    rng: &mut Rng,
    policies: &[QuietHours],
    engines: usize,
    lease: Duration,
    at: Duration,
    events: &mut Vec<(Duration, Event)>,
) {
    let job = rng.usize(..8);
    let engine = rng.usize(..engines);
    let soon = |rng: &mut Rng, most: u64| at + Duration::from_millis(rng.u64(100..most * 1_000));
    let event = match rng.u8(..34) {
        0 | 1 => Event::Create(Box::new(JobScript::generate(rng, policies))),
        2 | 3 => Event::Edit(job, Box::new(JobScript::generate(rng, policies))),
        4 => Event::Tune(job, overlap(rng)),
        5..=7 => {
            let end = soon(rng, 240);
            if job.is_multiple_of(2) {
                Event::Pause(job, Some(end.saturating_sub(at)))
            } else {
                events.push((end, Event::Resume(job)));
                Event::Pause(job, None)
            }
        }
        8 => Event::Resume(job),
        9 => Event::Delete(job),
        10..=13 => Event::RunNow(job),
        14..=16 => Event::CancelNewest(job),
        17..=20 => {
            let seconds = *rng.choice(&[1, 7, 30, 288, 3_600, 86_400]).unwrap_or(&1);
            let seconds = if seconds == 86_400 && rng.bool() { 288 } else { seconds };
            Event::StepClock(if rng.bool() { seconds } else { -seconds })
        }
        21..=23 => {
            events.push((soon(rng, 120), Event::Restart(engine)));
            Event::Kill(engine)
        }
        24..=26 => {
            events.push((soon(rng, 120), Event::Restart(engine)));
            Event::Stop(engine, Duration::from_secs(rng.u64(..10)))
        }
        27..=31 => {
            let frozen = lease.mul_f64(0.2 + 3.0 * rng.f64());
            events.push((at + frozen, Event::Thaw(engine)));
            Event::Freeze(engine)
        }
        _ => {
            events.push((soon(rng, 90), Event::Outage(false)));
            Event::Outage(true)
        }
    };
    events.push((at, event));
}

fn overlap(rng: &mut Rng) -> OverlapPolicy {
    let size = CAPACITIES[rng.usize(..2)];
    match rng.u8(..6) {
        0 | 1 => OverlapPolicy::Skip,
        2 => OverlapPolicy::Concurrent,
        3 => OverlapPolicy::ConcurrentUpTo(size),
        4 => OverlapPolicy::Queue(size),
        _ => OverlapPolicy::Replace,
    }
}

fn policies() -> Vec<QuietHours> {
    let window = |start, end| Window::new(WeekdaySet::EVERY_DAY, start, end).unwrap();
    [(Mode::Skip, "12:05", "12:08"), (Mode::Defer, "12:06", "12:11")]
        .into_iter()
        .zip(0_u8..)
        .map(|((mode, start, end), index)| {
            let id = PolicyId::new(Timestamp::EPOCH, [index; 10]);
            let policy =
                QuietHours::new(id, &format!("quiet {index}"), Zone::UTC, Timestamp::EPOCH);
            QuietHours { windows: vec![window(start, end)], mode, ..policy }
        })
        .collect()
}

impl JobScript {
    fn generate(rng: &mut Rng, policies: &[QuietHours]) -> Self {
        let cadence = match rng.u8(..10) {
            0 => Cadence::EverySeconds(*rng.choice(&[10, 15, 20, 30]).unwrap_or(&10)),
            1 | 2 => Cadence::EveryMinutes(*rng.choice(&[1, 2, 5]).unwrap_or(&1)),
            3 => Cadence::HourlyInKolkata(rng.u32(..60)),
            4..=6 => Cadence::Interval(rng.u64(7..=150)),
            7 | 8 => Cadence::FixedDelay(rng.u64(3..=60)),
            _ => Cadence::OneShot(rng.i64(-60..=400)),
        };
        let recurring = !matches!(cadence, Cadence::OneShot(_));
        let catch_up = match rng.u8(..3) {
            0 => CatchUpPolicy::Skip,
            1 => CatchUpPolicy::RunOnce,
            _ => CatchUpPolicy::run_all_capped(rng.u32(1..=5)).unwrap(),
        };
        let retry = retry::Policy {
            max_retry: if rng.bool() { 0 } else { rng.u32(1..=3) },
            base: Duration::from_secs(rng.u64(1..=6)),
            max_delay: Duration::from_secs(20),
        };
        let seconds = |rng: &mut Rng, of_ten: u8, range: std::ops::RangeInclusive<u64>| {
            (rng.u8(..10) < of_ten).then(|| Duration::from_secs(rng.u64(range)))
        };
        Self {
            cadence,
            overlap: overlap(rng),
            catch_up,
            grace: Duration::from_secs(rng.u64(1..=10)),
            jitter: seconds(rng, 3, 1..=20).unwrap_or_default(),
            retry,
            max_execution_time: seconds(rng, 4, 2..=20),
            quiet_hours: (rng.u8(..6) == 0).then(|| policies[rng.usize(..policies.len())].id),
            ends_after: seconds(rng, 1, 120..=900).filter(|_| recurring),
            max_runs: (recurring && rng.u8(..10) == 0).then(|| rng.u64(1..=12)),
        }
    }

    fn schedule(&self, now: Timestamp) -> Schedule {
        let kolkata = Zone::parse("Asia/Kolkata").unwrap();
        let mut schedule = match self.cadence {
            Cadence::EverySeconds(n) => Schedule::cron(&format!("*/{n} * * * * *"), Zone::UTC),
            Cadence::EveryMinutes(n) => Schedule::cron(&format!("*/{n} * * * *"), Zone::UTC),
            Cadence::HourlyInKolkata(m) => Schedule::cron(&format!("{m} * * * *"), kolkata),
            Cadence::Interval(n) => Schedule::interval(Duration::from_secs(n), now),
            Cadence::FixedDelay(n) => Schedule::fixed_delay(Duration::from_secs(n), now),
            Cadence::OneShot(by) => Ok(Schedule::one_shot(shifted(now, by))),
        }
        .unwrap();
        if let Some(after) = self.ends_after {
            schedule = schedule.ending_at(now.after(after)).unwrap();
        }
        if let Some(most) = self.max_runs {
            schedule = schedule.at_most(most).unwrap();
        }
        schedule
    }

    /// The slots that this job must have, counted without the code under test.
    pub(super) fn oracle(&self, now: Timestamp) -> Oracle {
        let end = self.ends_after.map(|after| now.after(after));
        let every = |seconds: u64, phase: i64| Oracle::every(seconds, phase, end);
        match self.cadence {
            Cadence::EverySeconds(n) => every(n.into(), 0),
            Cadence::EveryMinutes(n) => every(u64::from(n) * 60, 0),
            // Kolkata's clocks are five and a half hours ahead, all year.
            Cadence::HourlyInKolkata(m) => every(3_600, (i64::from(m) - 30) * 60_000_000),
            Cadence::Interval(n) => every(n, now.as_micros()),
            Cadence::FixedDelay(n) => Oracle::FromEnd(Duration::from_secs(n)),
            Cadence::OneShot(by) => Oracle::Once(shifted(now, by)),
        }
    }

    pub(super) fn spec(&self, id: JobId, name: &str, now: Timestamp) -> JobSpec {
        JobSpec {
            overlap: self.overlap,
            catch_up: self.catch_up,
            misfire_grace: self.grace,
            jitter: self.jitter,
            quiet_hours: self.quiet_hours,
            retry: self.retry,
            max_execution_time: self.max_execution_time,
            ..JobSpec::new(id, name, self.schedule(now), now)
        }
    }
}

fn shifted(now: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_micros(now.as_micros() + seconds * 1_000_000)
}
