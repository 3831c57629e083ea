//! The dispatcher: claims executions whose time has come and starts them.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::Timestamp;
use chronos_core::execution::Failure;
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::store::{self, Claim, Hold, Terms};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::roster::Entry;
use super::{Shared, Tick};
use crate::handler::{Handler, JobContext};

/// Claims executions whose time has come and starts them, as many as there is room for.
pub struct Dispatcher {
    shared: Arc<Shared>,
    intake: CancellationToken,
}

impl Dispatcher {
    pub(super) fn new(shared: Arc<Shared>, intake: CancellationToken) -> Self {
        Self { shared, intake }
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

    fn start(&self, claim: Claim, claimed_at: Duration) {
        let shared = &self.shared;
        let (spec, hold) = (claim.spec.clone(), claim.hold);
        // An answer may come long after its claim; the time that a run has begins with the run.
        let begins = shared.clock.monotonic();
        let deadline = spec.max_execution_time.map(|most| begins.saturating_add(most));
        let context = JobContext::new(claim, shared.runs.clone(), shared.store.clone());
        let handler = shared.handlers.handler(&spec.target);
        let entry = Entry::new(spec.clone(), hold, context.clone(), claimed_at, begins);
        shared.roster.add(entry, deadline);
        let Some(handler) = handler else {
            shared.complete(hold, Ending::Failed(no_handler(&spec.target)));
            return;
        };
        let task = tokio::spawn(run(shared.clone(), handler, context, hold));
        shared.roster.attach(hold.execution, task.abort_handle());
    }
}

#[async_trait]
impl Tick for Dispatcher {
    fn name(&self) -> &'static str {
        "dispatcher"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        let shared = &self.shared;
        let room = shared.config.max_concurrency.saturating_sub(shared.roster.len());
        if room == 0 {
            // The next end rings the bell.
            shared.bells.claiming.store(false, Ordering::Relaxed);
            return Ok(None);
        }
        let claimed_at = shared.clock.monotonic();
        let terms = Terms { now: shared.clock.now(), lease: shared.config.lease };
        let limit = room.min(shared.config.batch);
        let claimed = shared.store.claim(&shared.config.worker, terms, limit).await?;
        let more = claimed.next.is_some_and(|next| next <= terms.now);
        shared.bells.claiming.store(more, Ordering::Relaxed);
        if !claimed.claims.is_empty() {
            if !self.may_begin(claimed_at) {
                // Left alone they would be reaped, so a hand-back that fails only costs time.
                self.hand_back(&claimed.claims).await?;
                return Ok(claimed.next);
            }
            shared.observer.started(&claimed.claims);
            for claim in claimed.claims {
                self.start(claim, claimed_at);
            }
            shared.bells.keep.notify_one();
        }
        Ok(claimed.next)
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
