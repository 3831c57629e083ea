//! Actors: handlers that behave as the script says and write down every call.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::{Failure, Trigger};
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Planned};
use chronos_core::{Execution, JobId, JobSpec};
use chronos_engine::run::{Handlers, Observer};
use chronos_engine::{Handler, JobContext};
use fastrand::Rng;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::faults::Link;
use super::ledger::{Call, Outcome};

/// What a call does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Succeed(Duration),
    FailTransiently(Duration),
    FailForGood(Duration),
    Panic(Duration),
    Skip,
    /// Heeds its token.
    WorkLong(Duration),
    /// Does not.
    IgnoreEverything(Duration),
}

impl Act {
    /// The same for the same attempt in every replay, whatever the order of calls.
    fn of(seed: u64, context: &JobContext, lease: Duration) -> Self {
        let id = context.execution_id();
        let salt = id
            .as_bytes()
            .iter()
            .fold(seed, |salt, byte| salt.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte));
        let mut rng = Rng::with_seed(salt);
        let short = Duration::from_millis(rng.u64(..4_000));
        let long = lease.mul_f64(0.5 + 2.5 * rng.f64());
        match rng.u8(..20) {
            0..=9 => Self::Succeed(short),
            10..=12 => Self::FailTransiently(short),
            13 => Self::FailForGood(short),
            14 => Self::Panic(short),
            15 => Self::Skip,
            16 | 17 => Self::WorkLong(long),
            _ => Self::IgnoreEverything(long),
        }
    }
}

/// The handlers of one engine.
pub(super) struct Cast {
    pub(super) link: Arc<Link>,
    pub(super) seed: u64,
    pub(super) lease: Duration,
}

impl Handlers for Cast {
    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>> {
        let Target::Handler { name } = target else {
            return None;
        };
        let job = name.parse().ok()?;
        Some(Arc::new(Actor { job, link: self.link.clone(), seed: self.seed, lease: self.lease }))
    }
}

struct Actor {
    job: JobId,
    link: Arc<Link>,
    seed: u64,
    lease: Duration,
}

impl Handler for Actor {
    fn call(&self, context: JobContext) -> BoxFuture<'static, Ending> {
        let act = Act::of(self.seed, &context, self.lease);
        let link = self.link.clone();
        let job = self.job;
        async move {
            let scene = Scene::open(link, job, &context, act);
            match act {
                Act::Succeed(after) => {
                    tokio::time::sleep(after).await;
                    scene.close(Outcome::Succeeded, Ending::Success)
                }
                Act::FailTransiently(after) => {
                    tokio::time::sleep(after).await;
                    let failure = Failure::transient("planned");
                    scene.close(Outcome::Failed, Ending::Failed(failure))
                }
                Act::FailForGood(after) => {
                    tokio::time::sleep(after).await;
                    let failure = Failure::permanent("planned");
                    scene.close(Outcome::Failed, Ending::Failed(failure))
                }
                Act::Panic(after) => {
                    tokio::time::sleep(after).await;
                    drop(scene.close(Outcome::Panicked, Ending::Success));
                    // Unwinds without the message that a surprise would print.
                    std::panic::resume_unwind(Box::new("planned"))
                }
                Act::Skip => scene.close(Outcome::Skipped, Ending::Skipped("planned".into())),
                Act::WorkLong(until) => {
                    let work = tokio::time::timeout(until, context.token().cancelled());
                    if work.await.is_err() {
                        return scene.close(Outcome::Succeeded, Ending::Success);
                    }
                    let failure = Failure::transient("stopped");
                    scene.close(Outcome::Stopped, Ending::Failed(failure))
                }
                Act::IgnoreEverything(until) => {
                    tokio::time::sleep(until).await;
                    scene.close(Outcome::Succeeded, Ending::Success)
                }
            }
        }
        .boxed()
    }
}

/// A call that is being made; one that is dropped was dropped by the engine.
struct Scene {
    link: Arc<Link>,
    number: usize,
    closed: bool,
}

impl Scene {
    fn open(link: Arc<Link>, job: JobId, context: &JobContext, act: Act) -> Self {
        let started = link.clock.monotonic();
        let slot = context.scheduled_for().into();
        let number = match context.trigger() {
            Trigger::Schedule | Trigger::CatchUp => None,
            Trigger::Manual { number } => Some(number),
            Trigger::Notice(_) => panic!("these jobs tell nobody anything"),
            Trigger::Backfill { .. } => panic!("nobody fills these jobs in"),
        };
        let call = Call {
            execution: context.execution_id(),
            key: context.idempotency_key(),
            worker: link.worker.clone(),
            started,
            ended: None,
        };
        let mut ledger = link.ledger.lock();
        let attempt = context.attempt();
        ledger.note(
            started,
            format_args!("{}: begins {slot} #{attempt} of {job}: {act:?}", link.worker),
        );
        let number = ledger.call_begins(call, (job, slot, number));
        drop(ledger);
        Self { link, number, closed: false }
    }

    fn close(mut self, outcome: Outcome, ending: Ending) -> Ending {
        self.end(outcome);
        ending
    }

    fn end(&mut self, outcome: Outcome) {
        self.closed = true;
        let at = self.link.clock.monotonic();
        let mut ledger = self.link.ledger.lock();
        let id = ledger.calls[self.number].execution;
        ledger.note(at, format_args!("{}: {outcome:?}: {id}", self.link.worker));
        ledger.call_ends(self.number, at, outcome);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if !self.closed {
            self.end(Outcome::Dropped);
        }
    }
}

/// Writes down what an engine was told.
pub(super) struct Witness {
    pub(super) link: Arc<Link>,
}

impl Observer for Witness {
    fn planned(&self, _: &[Planned]) {}

    fn started(&self, _: &[Claim]) {}

    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        let mut ledger = self.link.ledger.lock();
        let executions = ended.iter().map(|(_, execution)| execution.clone());
        ledger.acknowledged.extend(executions);
    }

    fn lost(&self, _: &JobSpec) {
        self.link.ledger.lock().count("runs given up");
    }
}
