//! The starter: begins the runs that were handed to this engine, whoever asked for them.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::Failure;
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Hold};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::Shared;
use super::roster::{Entry, Room};
use crate::handler::{Crew, Handler, JobContext};

/// Begins runs on this engine, until it is told to stop.
#[derive(Clone)]
pub(super) struct Starter {
    pub(super) shared: Arc<Shared>,
    intake: CancellationToken,
    /// Batches that are begun elsewhere than where they were claimed.
    elsewhere: TaskTracker,
}

/// Fewer runs than this are begun where they are claimed.
const FEW: usize = 8;

impl Starter {
    pub(super) fn new(
        shared: Arc<Shared>,
        intake: CancellationToken,
        elsewhere: TaskTracker,
    ) -> Self {
        Self { shared, intake, elsewhere }
    }

    /// Begins runs that were claimed then, in the room made for them.
    pub(super) async fn begin(&self, claims: Vec<Claim>, claimed_at: Duration, mut room: Room<'_>) {
        if claims.is_empty() {
            return;
        }
        // They count as running before anyone may find the roster empty, and stop.
        room.take(claims.len());
        if claims.len() < FEW {
            self.start(claims, claimed_at).await;
        } else {
            // Beginning many is work for another thread, while this one fires what else is due.
            let starter = self.clone();
            self.elsewhere.spawn(async move { starter.start(claims, claimed_at).await });
        }
    }

    async fn start(&self, claims: Vec<Claim>, claimed_at: Duration) {
        let shared = &self.shared;
        if shared.is_dead() {
            return;
        }
        if !self.may_begin(claimed_at) {
            shared.roster.leave(claims.len());
            return self.hand_back(&claims).await;
        }
        shared.observer.started(&claims);
        let crew = Arc::new(shared.clone());
        for claim in claims {
            start(claim, claimed_at, &crew);
        }
        shared.bells.keep.notify_one();
        if shared.is_dead() {
            // Whoever dropped dead meanwhile did not find them all.
            shared.roster.abort_all();
        }
    }

    /// Whether runs claimed then may still begin now: an answer may come after the lease it speaks
    /// of, or after this engine was told to stop.
    fn may_begin(&self, claimed_at: Duration) -> bool {
        let age = self.shared.clock.monotonic().saturating_sub(claimed_at);
        age < self.shared.fence() && !self.intake.is_cancelled()
    }

    /// Hands runs back that it is too late to begin. Left alone they would be reaped, so a hand-back
    /// that fails only costs time.
    async fn hand_back(&self, claims: &[Claim]) {
        let shared = &self.shared;
        warn!(claims = claims.len(), "Claims handed back: it is too late to begin them");
        let holds: Vec<Hold> = claims.iter().map(|claim| claim.hold).collect();
        if let Err(error) = shared.store.release(&holds, shared.clock.now()).await {
            warn!(%error, "Claims could not be handed back, and are left to their leases");
        }
    }
}

/// Puts a run on the roster and gives it a task of its own.
fn start(claim: Claim, claimed_at: Duration, crew: &Arc<Crew>) {
    let shared: &Shared = crew;
    // An answer may come long after its claim; the time that a run has begins with the run.
    let begins = shared.clock.monotonic();
    let deadline = claim.spec.max_execution_time.map(|most| begins.saturating_add(most));
    let context = JobContext::new(claim, crew.clone());
    shared.roster.enter(Entry::new(context.clone(), claimed_at, begins), deadline);
    let Some(handler) = shared.handlers.handler(context.target()) else {
        shared.complete(context.hold(), Ending::Failed(no_handler(context.target())));
        return;
    };
    let run = run(handler, context.clone());
    context.task().begin(|| tokio::spawn(run).abort_handle());
}

/// Runs a handler to its end; a panic is a failure of this run and of nothing else.
async fn run(handler: Arc<dyn Handler>, context: JobContext) {
    let called = AssertUnwindSafe(async { handler.call(context.clone()).await });
    let ending = called.catch_unwind().await.unwrap_or_else(|panic| {
        let message = format!("panic: {}", panic_text(panic.as_ref()));
        Ending::Failed(Failure::transient(&message))
    });
    context.engine().complete(context.hold(), ending);
}

/// The failure of a run that nobody here can make.
fn no_handler(target: &Target) -> Failure {
    match target {
        Target::Handler { name } => {
            Failure::permanent(&format!("no handler is registered under \"{name}\" here"))
        }
        Target::Http(_) => Failure::permanent("http requests are not made here"),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
