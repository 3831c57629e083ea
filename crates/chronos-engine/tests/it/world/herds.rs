//! Herds: thousands of jobs that all have something to catch up at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chronos_core::audit::{Decision, Slots};
use chronos_core::execution::{SkipReason, State, Trigger};
use chronos_core::policy::CatchUpPolicy;
use chronos_core::{Execution, Job, JobId, JobSpec, Schedule, Store, Timestamp, WorkerId};
use chronos_engine::run::EngineConfig;
use chronos_engine::{IntoHandler, JobContext};

use super::lab::{LEASE, Lab, seconds};

const JOBS: u16 = 2_000;
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
/// Executions that may run at once, and jobs that are planned in one step.
const AT_ONCE: usize = 64;
const BATCH: usize = 100;

/// What was away for a day.
#[derive(Clone, Copy, Debug)]
enum Away {
    Store,
    /// The whole machine: it wakes to a clock that shows the next day.
    Machine,
}

/// Calls that take a second each: whose they were, in the order they began, and the most at once.
#[derive(Clone, Default)]
struct Rush {
    begun: Arc<Mutex<Vec<(JobId, Timestamp)>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Rush {
    fn work(&self) -> impl IntoHandler<(JobContext,)> + use<> {
        let rush = self.clone();
        move |context: JobContext| {
            let rush = rush.clone();
            let call = (context.job_id(), context.scheduled_for().into());
            rush.begun.lock().unwrap().push(call);
            rush.most.fetch_max(rush.running.fetch_add(1, SeqCst) + 1, SeqCst);
            async move {
                tokio::time::sleep(seconds(1)).await;
                rush.running.fetch_sub(1, SeqCst);
            }
        }
    }
}

fn policy(number: u16) -> CatchUpPolicy {
    match number % 3 {
        0 => CatchUpPolicy::Skip,
        1 => CatchUpPolicy::RunOnce,
        _ => CatchUpPolicy::run_all_capped(5).unwrap(),
    }
}

/// A lab in which a day has been missed and caught up.
struct Morning {
    lab: Lab,
    origin: Timestamp,
    jobs: Vec<Job>,
    rush: Rush,
}

impl Morning {
    /// Away from five minutes after one hour until five minutes after another, then back for less than it
    /// takes until something is on time again.
    async fn after(away: Away) -> Self {
        let lab = Lab::new();
        let _engine = lab.engine_with(EngineConfig {
            lease: LEASE,
            max_concurrency: AT_ONCE,
            batch: BATCH,
            ..EngineConfig::new(WorkerId::new("engine"))
        });
        let (origin, rush) = (lab.now(), Rush::default());
        let make = |number: u16, spec: &mut JobSpec| {
            spec.schedule = Schedule::interval(HOUR, phase(origin, number)).unwrap();
            spec.catch_up = policy(number);
        };
        let jobs = lab.herd(JOBS, make, rush.work()).await;
        lab.until(seconds(300)).await;
        match away {
            Away::Store => {
                lab.outage(true);
                lab.until(DAY + seconds(300)).await;
                lab.outage(false);
                lab.until(DAY + seconds(590)).await;
            }
            Away::Machine => {
                lab.clock.step(86_400);
                lab.until(seconds(590)).await;
            }
        }
        Self { lab, origin, jobs, rush }
    }

    /// The slots of a job that were missed.
    fn slots(&self, number: u16) -> Vec<Timestamp> {
        (1..=24).map(|hour| phase(self.origin, number).after(HOUR * hour)).collect()
    }

    /// Those of them that must run all the same.
    fn caught_up(&self, number: u16) -> Vec<Timestamp> {
        let slots = self.slots(number);
        match policy(number) {
            CatchUpPolicy::Skip => Vec::new(),
            CatchUpPolicy::RunOnce => slots[23..].to_vec(),
            CatchUpPolicy::RunAllCapped(cap) => slots[..cap.get() as usize].to_vec(),
        }
    }
}

/// Slots are in each hour from ten minutes after it began until its end.
fn phase(origin: Timestamp, number: u16) -> Timestamp {
    origin.before(Duration::from_millis(1_500) * u32::from(number))
}

/// A slot and what became of it.
fn fate(execution: &Execution) -> (Timestamp, &'static str) {
    let what = match (&execution.state, &execution.trigger) {
        (State::Skipped { reason: SkipReason::Missed, .. }, _) => "missed",
        (State::Success(_), Trigger::CatchUp) => "caught up",
        _ => panic!("{execution:?}"),
    };
    (execution.slot, what)
}

#[tokio::test(start_paused = true)]
async fn after_a_day_away_thousands_of_jobs_catch_up_in_order_and_within_their_bounds() {
    for away in [Away::Store, Away::Machine] {
        let morning = Morning::after(away).await;
        every_slot_is_accounted_for(&morning).await;
        whoever_waits_longest_is_planned_first(&morning).await;

        let numbered = || (0..).zip(&morning.jobs);
        let of = |(number, job): (u16, &Job)| {
            let id = job.spec.id;
            morning.caught_up(number).into_iter().map(move |slot| (id, slot)).collect::<Vec<_>>()
        };
        let mut begun = morning.rush.begun.lock().unwrap().clone();
        // By job alone, so that the runs of each stay in the order in which they began.
        begun.sort_by_key(|(job, _)| *job);
        assert_eq!(begun, numbered().flat_map(of).collect::<Vec<_>>(), "{away:?}");
        assert_eq!(morning.rush.most.load(SeqCst), AT_ONCE, "{away:?}");
        let ledger = morning.lab.ledger.lock();
        assert_eq!(ledger.most_planned, BATCH, "{away:?}");
        assert_eq!(ledger.violations, Vec::<String>::new(), "{away:?}");
    }
}

/// Each has a record of its own, or a run that stands for it.
async fn every_slot_is_accounted_for(morning: &Morning) {
    let lab = &morning.lab;
    let audit = lab.store.audit(0, 1_000_000).await.unwrap();
    let stood_for: BTreeMap<JobId, Slots> = audit
        .iter()
        .filter_map(|event| match &event.decision {
            Decision::Fired { instead_of, .. } => Some((event.job?, (*instead_of)?)),
            _ => None,
        })
        .collect();
    for (number, job) in (0..).zip(&morning.jobs) {
        let (slots, runs) = (morning.slots(number), morning.caught_up(number));
        let became = |slot| if runs.contains(slot) { "caught up" } else { "missed" };
        let mut expected: Vec<_> = slots.iter().map(|slot| (*slot, became(slot))).collect();
        if policy(number) == CatchUpPolicy::RunOnce {
            let all = Slots { first: slots[0], last: slots[23], count: Some(24) };
            assert_eq!(stood_for.get(&job.spec.id), Some(&all), "{}", job.spec.name);
            expected.drain(..23);
        }
        let rows: Vec<_> = lab.executions(job).await.iter().map(fate).collect();
        assert_eq!(rows, expected, "{}", job.spec.name);
        let next = lab.store.job(job.spec.id).await.unwrap().standing.next_slot;
        assert_eq!(next, Some(slots[23].after(HOUR)), "{}", job.spec.name);
    }
}

async fn whoever_waits_longest_is_planned_first(morning: &Morning) {
    let audit = morning.lab.store.audit(0, 1_000_000).await.unwrap();
    let mut seen = BTreeSet::new();
    let waited_since = audit.iter().filter_map(|event| {
        let first = match &event.decision {
            Decision::Fired { slot, instead_of, .. } => instead_of.map_or(*slot, |of| of.first),
            Decision::Skipped { slots, .. } => slots.first,
            _ => return None,
        };
        seen.insert(event.job).then_some(first)
    });
    let waited_since: Vec<Timestamp> = waited_since.collect();
    assert_eq!(waited_since.len(), morning.jobs.len());
    assert!(waited_since.is_sorted());
}
