//! Reconciliation: what a node that starts puts in order, step by step, before its loops begin.

use std::time::Duration;

use chronos_core::audit::{Decision, Reconciliation, Slots};
use chronos_core::execution::SkipReason;
use chronos_core::store;
use chronos_core::{Timestamp, WorkerId};
use tracing::{error, info, warn};

use super::SchedulerService;
use crate::run::{EngineConfig, Observer as _};

/// Nobody waits longer than this for a node to answer: what is left then is for its loops.
const PATIENCE: Duration = Duration::from_secs(10);

impl SchedulerService {
    /// Puts in order what a crash, a stop or a dead node left, and says what it was: first the leases of nodes
    /// that are gone, then where the schedules stand, then the slots that came due meanwhile, each by its
    /// job's catch-up policy. To be called before [`start`](Self::start), whose loops go on from there; they
    /// would do the same, unseen.
    ///
    /// `lost` is how many runs of an earlier process were ended by whoever opened the store. A store that does
    /// not answer is left to the loops.
    pub async fn reconcile(&self, lost: u64) -> Option<&Reconciliation> {
        if !self.config.roles.scheduler {
            info!("No reconciliation: this node plans nothing");
            return None;
        }
        match self.try_reconcile(lost).await {
            Ok(done) => Some(self.reconciled.get_or_init(|| done)),
            Err(error) => {
                warn!(%error, "Reconciliation failed: the loops go on with it");
                None
            }
        }
    }

    /// What was put in order when the scheduler started, if that is known.
    #[must_use]
    pub fn reconciliation(&self) -> Option<&Reconciliation> {
        self.reconciled.get()
    }

    async fn try_reconcile(&self, lost: u64) -> store::Result<Reconciliation> {
        let (began, now) = (self.clock.monotonic(), self.clock.now());
        let ends = began.saturating_add(PATIENCE);
        let node = self.config.node.as_deref().unwrap_or("in-process");
        let mut done = Reconciliation::begin(WorkerId::new(node), lost);
        info!(node, "Reconciliation begins");
        self.end_leases(now, ends, &mut done).await?;
        info!(runs = done.lost, "Reconciliation: leases of dead nodes ended");
        done.jobs = self.store.stats().await?.jobs;
        info!(jobs = done.jobs, "Reconciliation: positions of schedules read");
        self.account_for_slots(now, ends, &mut done).await?;
        info!(
            planned = done.planned,
            fired = done.fired,
            missed = done.missed,
            skipped = done.skipped,
            deferred = done.deferred,
            unreadable = done.unreadable,
            "Reconciliation: slots that had come due accounted for"
        );
        done.took = self.clock.monotonic().saturating_sub(began);
        self.store.note_reconciliation(done.clone(), now).await?;
        info!(took = ?done.took, complete = done.complete, "Reconciliation done: the loops begin");
        Ok(done)
    }

    /// Ends what nodes that are gone had begun, as far as their leases have run out.
    async fn end_leases(
        &self,
        now: Timestamp,
        ends: Duration,
        done: &mut Reconciliation,
    ) -> store::Result<()> {
        loop {
            let reaped = self.store.reap(now, EngineConfig::BATCH).await?;
            done.lost += reaped.ended.len() as u64;
            for execution in &reaped.ended {
                warn!(
                    execution = %execution.id,
                    status = execution.status(),
                    worker = execution.run().map(|run| run.worker.as_str()),
                    "Execution taken from its worker"
                );
            }
            self.observers.reaped(&reaped.ended);
            if !self.goes_on(reaped.next, now, ends, done) {
                return Ok(());
            }
        }
    }

    /// Accounts for every slot up to now, each by its job's policies.
    async fn account_for_slots(
        &self,
        now: Timestamp,
        ends: Duration,
        done: &mut Reconciliation,
    ) -> store::Result<()> {
        loop {
            if let Some(reason) = self.brake.reason() {
                warn!(%reason, "Reconciliation plans nothing");
                done.complete = false;
                return Ok(());
            }
            let fired = self.store.fire_due(now, EngineConfig::BATCH, None).await?;
            self.observers.planned(&fired.planned);
            done.planned += fired.planned.len() as u64;
            done.unreadable += fired.unreadable.len() as u64;
            for (job, unreadable) in &fired.unreadable {
                error!(%job, error = %unreadable, "Job set aside: its record cannot be read");
            }
            for planned in &fired.planned {
                planned.plan.decisions.iter().for_each(|decision| count(decision, done));
            }
            // Another node may be at what is still due.
            let idle = fired.planned.is_empty() && fired.unreadable.is_empty();
            if idle || !self.goes_on(fired.next, now, ends, done) {
                return Ok(());
            }
        }
    }

    /// Whether there is more to put in order, and time for it.
    fn goes_on(
        &self,
        next: Option<Timestamp>,
        now: Timestamp,
        ends: Duration,
        done: &mut Reconciliation,
    ) -> bool {
        let more = next.is_some_and(|next| next <= now);
        let in_time = self.clock.monotonic() < ends;
        done.complete &= !more || in_time;
        more && in_time
    }
}

fn count(decision: &Decision, done: &mut Reconciliation) {
    let number = |slots: &Slots| slots.count.unwrap_or(1);
    match decision {
        Decision::Fired { .. } => done.fired += 1,
        Decision::Skipped { slots, reason: SkipReason::Missed } => done.missed += number(slots),
        Decision::Skipped { slots, .. } => done.skipped += number(slots),
        Decision::Deferred { .. } => done.deferred += 1,
        _ => {}
    }
}
