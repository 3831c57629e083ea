//! What goes on while something fails, and how it is brought to an end and checked.

use chronos_core::{Execution, ExecutionId, JobId, Store, Timestamp};
use chronos_engine::{Clock, SystemClock};
use chronos_store::PostgresStore;

use super::accounts::{self, Tally};
use super::nodes::{LEASE, Node, alone, every_second, executions, until};
use crate::crash::endpoint::Endpoint;

/// Jobs that go on every second while something fails; two of them are never run twice at once.
pub(super) async fn background(node: &Node, endpoint: &Endpoint) -> Vec<JobId> {
    let mut jobs = Vec::new();
    for number in 0..10 {
        let path = ["ok", "slow"][number % 2];
        jobs.push(node.create(every_second(&format!("load {number}"), &endpoint.url(path))).await);
    }
    for number in 0..2 {
        jobs.push(node.create(alone(&format!("alone {number}"), &endpoint.url("slow"))).await);
    }
    jobs
}

/// The place of the node that runs this execution.
pub(super) async fn holder(store: &PostgresStore, run: ExecutionId, nodes: &[Node]) -> usize {
    until(store, async |store| {
        let execution = store.execution(run).await.unwrap();
        let worker = execution.running()?.lease.worker.clone();
        nodes.iter().position(|node| worker.as_str().starts_with(&format!("{}-", node.name)))
    })
    .await
}

/// The attempts at a job's only slot, the newest first, once that has succeeded. This is sooner than two
/// leases after the fault.
pub(super) async fn recovered(
    store: &PostgresStore,
    job: JobId,
    fault_at: Timestamp,
) -> Vec<Execution> {
    let attempts = until(store, async |store| {
        let attempts = executions(store, job).await;
        let newest = attempts.first()?;
        (newest.status() == "SUCCESS").then_some(attempts)
    })
    .await;
    let took = SystemClock::new().now().since(fault_at);
    assert!(took < 2 * LEASE, "it took {took:?}");
    attempts
}

pub(super) fn statuses(attempts: &[Execution]) -> Vec<&'static str> {
    attempts.iter().map(Execution::status).collect()
}

/// Waits until every slot up to now has come to its end, which is sooner than two leases from now; stops
/// everyone and checks what was recorded.
pub(super) async fn settle(
    store: &PostgresStore,
    nodes: Vec<Node>,
    jobs: &[JobId],
    endpoint: &Endpoint,
) -> Tally {
    let clock = SystemClock::new();
    let healed_at = clock.now();
    let last = Timestamp::from_secs(healed_at.as_secs());
    until(store, async |store| {
        for job in jobs {
            // The next slot has fired, too, so nothing of this one is still to come.
            let newest = store.executions(*job, None, 1).await.ok()?;
            newest.first().filter(|newest| newest.slot > last)?;
        }
        // Looked for last: what fires in between would not be among them.
        let live = store.live(jobs).await.ok()?;
        live.iter().all(|execution| execution.slot > last).then_some(())
    })
    .await;
    let took = clock.now().since(healed_at);
    assert!(took < 2 * LEASE, "recovery took {took:?}");
    for mut node in nodes {
        node.process.stop().await;
    }
    accounts::check(store, jobs, last, &endpoint.calls()).await
}
