//! The starter: begins the runs that were handed to this engine, whoever asked for them.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::Failure;
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::store::{self, Claim, Hold};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Shared;
use super::roster::{Entry, Room};
use crate::handler::{Handler, JobContext};

/// Begins runs on this engine, until it is told to stop.
pub(super) struct Starter {
    pub(super) shared: Arc<Shared>,
    intake: CancellationToken,
}

impl Starter {
    pub(super) fn new(shared: Arc<Shared>, intake: CancellationToken) -> Self {
        Self { shared, intake }
    }

    /// Begins runs that were claimed then, in the room made for them; hands them back when it is too
    /// late. Left alone they would be reaped, so a hand-back that fails only costs time.
    pub(super) async fn begin(
        &self,
        claims: Vec<Claim>,
        claimed_at: Duration,
        mut room: Room<'_>,
    ) -> store::Result<()> {
        if claims.is_empty() {
            return Ok(());
        }
        if !self.may_begin(claimed_at) {
            return self.hand_back(&claims).await;
        }
        self.shared.observer.started(&claims);
        for claim in claims {
            self.start(claim, claimed_at, &mut room);
        }
        self.shared.bells.keep.notify_one();
        Ok(())
    }

    /// Whether runs claimed then may still begin now: an answer may come after the lease it speaks
    /// of, or after this engine was told to stop.
    fn may_begin(&self, claimed_at: Duration) -> bool {
        let age = self.shared.clock.monotonic().saturating_sub(claimed_at);
        age < self.shared.fence() && !self.intake.is_cancelled()
    }

    async fn hand_back(&self, claims: &[Claim]) -> store::Result<()> {
        warn!(claims = claims.len(), "Claims handed back: it is too late to begin them");
        let holds: Vec<Hold> = claims.iter().map(|claim| claim.hold).collect();
        let shared = &self.shared;
        shared.store.release(&holds, shared.clock.now()).await
    }

    fn start(&self, claim: Claim, claimed_at: Duration, room: &mut Room<'_>) {
        let shared = &self.shared;
        let (spec, hold) = (claim.spec.clone(), claim.hold);
        // An answer may come long after its claim; the time that a run has begins with the run.
        let begins = shared.clock.monotonic();
        let deadline = spec.max_execution_time.map(|most| begins.saturating_add(most));
        let context = JobContext::new(claim, shared.runs.clone(), shared.store.clone());
        let handler = shared.handlers.handler(&spec.target);
        let entry = Entry::new(spec.clone(), hold, context.clone(), claimed_at, begins);
        room.fill(entry, deadline);
        let Some(handler) = handler else {
            shared.complete(hold, Ending::Failed(no_handler(&spec.target)));
            return;
        };
        let task = tokio::spawn(run(shared.clone(), handler, context, hold));
        shared.roster.attach(hold.execution, task.abort_handle());
    }
}

/// Runs a handler to its end; a panic is a failure of this run and of nothing else.
async fn run(shared: Arc<Shared>, handler: Arc<dyn Handler>, context: JobContext, hold: Hold) {
    let called = AssertUnwindSafe(async move { handler.call(context).await });
    let ending = called.catch_unwind().await.unwrap_or_else(|panic| {
        let message = format!("panic: {}", panic_text(panic.as_ref()));
        Ending::Failed(Failure::transient(&message))
    });
    shared.complete(hold, ending);
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
