//! What the scheduler's engine does, told to the registry and the log.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chronos_core::execution::{CancelCause, Run, State};
use chronos_core::policy::retry;
use chronos_core::store::{Claim, Planned};
use chronos_core::{Execution, JobSpec, Timestamp};
use tracing::{debug, info, warn};

use super::registry::{JobRegistry, RunEnd, Wait};
use crate::clock::Clock;
use crate::handler::JobResult;
use crate::run::Observer;

/// Tells everyone who wants to see what the engine does.
#[derive(Default)]
pub(super) struct Observers(RwLock<Vec<Arc<dyn Observer>>>);

impl Observers {
    pub(super) fn add(&self, observer: Arc<dyn Observer>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(observer);
    }

    fn each(&self, tell: impl Fn(&dyn Observer)) {
        let observers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        observers.iter().for_each(|observer| tell(observer.as_ref()));
    }
}

impl Observer for Observers {
    fn planned(&self, planned: &[Planned]) {
        self.each(|observer| observer.planned(planned));
    }

    fn started(&self, claims: &[Claim]) {
        self.each(|observer| observer.started(claims));
    }

    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        self.each(|observer| observer.ended(ended));
    }

    fn told(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        self.each(|observer| observer.told(ended));
    }

    fn lost(&self, spec: &JobSpec) {
        self.each(|observer| observer.lost(spec));
    }

    fn reaped(&self, ended: &[Execution]) {
        self.each(|observer| observer.reaped(ended));
    }

    fn scanned(&self, took: Duration) {
        self.each(|observer| observer.scanned(took));
    }
}

/// Keeps the registry true and the log telling.
pub(super) struct Reporter {
    pub(super) registry: Arc<JobRegistry>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Reporter {
    /// Counts the runs of a message job, which end where they begin.
    fn said(&self, Planned { spec, plan }: &Planned) {
        for message in &plan.messages {
            let run = plan.executions.iter().find(|run| run.id == message.id);
            if let Some(end) = run.and_then(|run| run_end(spec, run)) {
                self.registry.record_starts(std::iter::once(&**spec));
                self.registry.record_ends(std::iter::once((&**spec, end)));
                info!(job = %spec.name, slot = %message.slot, "Message emitted");
            }
        }
    }
}

impl Observer for Reporter {
    fn planned(&self, planned: &[Planned]) {
        if planned.is_empty() {
            return;
        }
        self.registry.record_plans(planned);
        for planned in planned {
            self.said(planned);
        }
        let now = self.clock.now();
        for Planned { spec, plan } in planned {
            if spec.jitter.is_zero() {
                continue;
            }
            for execution in plan.executions.iter().filter(|planned| planned.is_queued()) {
                // Of a slot that is late, only what it still waits is jitter.
                let jitter = execution.run_at.since(execution.slot.max(now));
                if !jitter.is_zero() {
                    let jitter_ms = whole_millis(jitter);
                    debug!(job = %spec.name, jitter_ms, "Applying jitter delay");
                }
            }
        }
    }

    fn started(&self, claims: &[Claim]) {
        self.registry.record_starts(claims.iter().map(|claim| &*claim.spec));
        for claim in claims {
            info!(job = %claim.spec.name, "Job started");
        }
    }

    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        let ends = ended.iter().map(|(spec, execution)| (&**spec, run_end(spec, execution)));
        self.registry.record_ends(ends.filter_map(|(spec, end)| Some((spec, end?))));
        for (spec, execution) in ended {
            let Some(end) = run_end(spec, execution) else {
                continue;
            };
            let duration_ms = whole_millis(end.took);
            match end.result {
                JobResult::Success => info!(job = %spec.name, duration_ms, "Job completed"),
                JobResult::Failed(error) => warn!(job = %spec.name, error, "Job failed"),
                JobResult::Skipped(reason) => info!(job = %spec.name, reason, "Job skipped"),
            }
        }
    }

    fn told(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        for (spec, execution) in ended {
            let kind = execution.notice().map(|notice| notice.kind.as_str());
            match &execution.state {
                State::Success(_) => info!(job = %spec.name, kind, "Notice sent"),
                State::Failed(_, failure) => {
                    warn!(job = %spec.name, kind, error = &*failure.message, "Notice not sent");
                }
                _ => warn!(job = %spec.name, kind, error = execution.status(), "Notice not sent"),
            }
        }
    }

    fn lost(&self, spec: &JobSpec) {
        self.registry.record_lost(spec);
    }
}

/// Logged as a number; JSON would hold one of 128 bits as text.
fn whole_millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// How an execution's end reads in the registry; `None` while it lives.
fn run_end(spec: &JobSpec, execution: &Execution) -> Option<RunEnd> {
    let run = execution.run();
    let result = match &execution.state {
        State::Queued { .. } | State::Running(_) => return None,
        State::Success(_) => JobResult::Success,
        State::Failed(..) | State::TimedOut(_) | State::Stuck(_) => {
            JobResult::Failed(execution.error().unwrap_or_default().into())
        }
        State::Cancelled { cause, .. } => {
            JobResult::Failed(format!("cancelled: {}", cause.as_str()))
        }
        State::Skipped { reason, .. } => JobResult::Skipped(reason.as_str().into()),
    };
    let (started_at, finished_at) = match (run, &execution.state) {
        (Some(run), _) => (run.started_at, run.finished_at),
        (None, State::Skipped { at, .. } | State::Cancelled { at, .. }) => (execution.slot, *at),
        (None, _) => (execution.slot, execution.slot),
    };
    Some(RunEnd {
        result,
        started_at,
        finished_at,
        took: run.map_or(Duration::ZERO, Run::duration),
        next_run: next_from(spec, execution, finished_at),
        wait: run.map(|run| wait_of(execution, run.started_at)),
    })
}

/// What lay between the slot of an execution and its start.
fn wait_of(execution: &Execution, started_at: Timestamp) -> Wait {
    let millis = |wait: Duration| u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
    // A later attempt waits for its delay, not for jitter.
    let jitter = if execution.attempt == 1 {
        execution.run_at.since(execution.slot)
    } else {
        Duration::ZERO
    };
    Wait { jitter_ms: millis(jitter), queue_ms: millis(started_at.since(execution.run_at)) }
}

/// The slot after a run that ended at `end`, if the schedule counts from there and no further
/// attempt at the old slot comes first. Of a job with `max_runs` only its next plan tells.
fn next_from(spec: &JobSpec, execution: &Execution, end: Timestamp) -> Option<Timestamp> {
    let exhausted = execution.retry >= spec.retry.max_retry;
    let settled = match &execution.state {
        State::Success(_) | State::Skipped { .. } => true,
        State::Failed(_, failure) => exhausted || failure.class == retry::Class::Permanent,
        State::TimedOut(_) => exhausted,
        State::Cancelled { cause, .. } => *cause != CancelCause::Shutdown,
        State::Queued { .. } | State::Running(_) | State::Stuck(_) => false,
    };
    let endless = spec.schedule.max_runs().is_none();
    (settled && endless && execution.trigger.is_scheduled())
        .then(|| spec.schedule.next_from_end(end))
        .flatten()
}
