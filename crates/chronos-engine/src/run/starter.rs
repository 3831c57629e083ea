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
use tracing::warn;

use super::Shared;
use super::roster::{Entry, Room};
use crate::handler::{Crew, Handler, JobContext};

/// Begins runs on this engine, until it is told to stop.
#[derive(Clone)]
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
    pub(super) async fn begin(&self, claims: Vec<Claim>, claimed_at: Duration, room: Room) {
        if claims.len() < FEW {
            self.begin_here(claims, claimed_at, room).await;
        } else {
            // Beginning many is work for another thread, while this one fires what else is due.
            let starter = self.clone();
            let begun = async move { starter.begin_here(claims, claimed_at, room).await };
            self.shared.beginnings.spawn(begun);
            // The task that a thread spawned last waits until that thread lets go; with another behind
            // it, it is anyone's.
            tokio::spawn(std::future::ready(()));
        }
    }

    async fn begin_here(&self, claims: Vec<Claim>, claimed_at: Duration, mut room: Room) {
        if claims.is_empty() {
            return;
        }
        if !self.may_begin(claimed_at) {
            return self.hand_back(&claims).await;
        }
        self.shared.tell_started(&claims);
        // They are on the roster before anyone may find it empty, and stop.
        let crew = Arc::new(self.shared.clone());
        // An answer may come long after its claim; the time that a run has begins with the run.
        let begins = self.shared.clock.monotonic();
        let launches = room.fill(claims, |claim| enter(claim, claimed_at, begins, &crew));
        drop(room);
        launch(&self.shared, launches);
        self.shared.bells.keep.notify_one();
    }

    /// Whether runs claimed then may still begin now: an answer may come after the lease it speaks
    /// of, or after this engine was told to stop.
    fn may_begin(&self, claimed_at: Duration) -> bool {
        let age = self.shared.clock.monotonic().saturating_sub(claimed_at);
        age < self.shared.fence() && !self.intake.is_cancelled()
    }

    async fn hand_back(&self, claims: &[Claim]) {
        warn!(claims = claims.len(), "Claims handed back: it is too late to begin them");
        let holds: Vec<Hold> = claims.iter().map(|claim| claim.hold).collect();
        let shared = &self.shared;
        if let Err(error) = shared.store.release(&holds, shared.clock.now()).await {
            warn!(claims = claims.len(), %error, "Claims are left to their leases");
        }
    }
}

/// The roster's entry for a run that begins then, and until when it may go on.
fn enter(
    claim: Claim,
    claimed_at: Duration,
    begins: Duration,
    crew: &Arc<Crew>,
) -> (Entry, Option<Duration>) {
    let limit = claim.execution.limit(&claim.spec);
    let deadline = limit.map(|most| begins.saturating_add(most));
    let context = JobContext::new(claim, crew.clone());
    (Entry::new(context, claimed_at, begins), deadline)
}

/// Fewer runs than this begin where they are claimed.
const FEW: usize = 8;

/// Gives each run that is still on the roster a task of its own.
fn launch(shared: &Arc<Shared>, launches: Vec<JobContext>) {
    for context in launches {
        let target = context.reachable_target();
        let handler = target
            .and_then(|target| shared.handlers.handler(target).ok_or_else(|| no_handler(target)));
        let handler = match handler {
            Ok(handler) => handler,
            Err(failure) => {
                shared.complete(context.hold(), Ending::Failed(failure));
                continue;
            }
        };
        let run = run(handler, context.clone());
        context.task().begin(|| tokio::spawn(run).abort_handle());
    }
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
        // Queued while the job did something else.
        Target::Message(_) => Failure::permanent("the job has become a message; run it again"),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
