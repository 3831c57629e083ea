//! Liveness: what a world without faults must not show, and what must come to an end.

use std::collections::BTreeSet;
use std::time::Duration;

use chronos_core::execution::State;
use chronos_core::{Execution, Store};

use super::checker::ALL;
use super::record::JobRecord;
use super::stage::Stage;

/// How late a planner or a claim may be in a world without faults.
const LATE: Duration = Duration::from_secs(15);

/// What a world without faults must not show: work that nobody does.
pub(super) async fn unsettled(stage: &Stage) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let now = stage.now();
    for record in &stage.jobs {
        let live: Vec<Execution> = live_of(stage, record).await;
        let job = stage.store.job(record.id).await.ok();
        let paused = job.as_ref().is_some_and(|job| job.standing.paused.is_some());
        for execution in &live {
            let id = execution.id;
            match &execution.state {
                State::Running(running) if running.lease.expires_at <= now => {
                    found.insert(format!("{id} runs on an expired lease"));
                }
                State::Running(running) if !stage.ledger.lock().is_active(id) => {
                    found.insert(format!("{id} runs nowhere, for {}", running.lease.worker));
                }
                State::Queued { held: false }
                    if execution.run_at.after(LATE) < now && stage.has_room() =>
                {
                    found.insert(format!("{id} waits since {}", execution.run_at));
                }
                State::Queued { held: true } => {
                    let behind = live.iter().any(|other| !other.is_held());
                    if !(behind || paused && execution.trigger.is_scheduled()) {
                        found.insert(format!("{id} is held by nothing"));
                    }
                }
                _ => {}
            }
        }
        let Some(job) = job else { continue };
        if job.due_at().is_some_and(|due| due.after(LATE) < now) {
            found.insert(format!("{} is due since {:?}", record.id, job.due_at()));
        }
        let waits = live.iter().any(|live| live.trigger.is_scheduled());
        if job.standing.enabled && job.standing.next_slot.is_none() && !waits {
            found.insert(format!("{} waits for no slot and no run", record.id));
        }
    }
    found
}

/// What is alive and not merely held by a pause.
pub(super) async fn alive(stage: &Stage) -> Vec<Execution> {
    let mut alive = Vec::new();
    for record in &stage.jobs {
        let live = live_of(stage, record).await;
        alive.extend(
            live.into_iter().filter(|live| !(live.is_held() && live.trigger.is_scheduled())),
        );
    }
    alive
}

async fn live_of(stage: &Stage, record: &JobRecord) -> Vec<Execution> {
    let executions = stage.store.executions(record.id, None, ALL).await.unwrap();
    executions.into_iter().filter(Execution::is_live).collect()
}
