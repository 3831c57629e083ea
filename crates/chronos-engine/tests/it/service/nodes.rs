//! Several schedulers on one store: what each does there, and what keeps one from taking part.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chronos_core::store::Roles;
use chronos_engine::{
    Clock, EmbeddedStore, NewJob, Priority, Retention, SchedulerConfig, SchedulerService, Store,
    VirtualClock,
};

const SCHEDULER: Roles = Roles { api: false, scheduler: true, worker: false };
const WORKER: Roles = Roles { api: false, scheduler: false, worker: true };

/// Schedulers of these roles on one store; their job counts its runs.
async fn nodes<const N: usize>(
    roles: [Roles; N],
) -> ([SchedulerService; N], Arc<dyn Store>, [Arc<AtomicU32>; N]) {
    let noon: chrono::DateTime<chrono::Utc> = "2026-03-02T12:00:00Z".parse().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::starting_at(noon));
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
    let counts = std::array::from_fn(|_| Arc::new(AtomicU32::new(0)));
    let mut number = 0;
    let nodes = roles.map(|roles| {
        let node = Some(format!("node-{number}"));
        number += 1;
        let config = SchedulerConfig { roles, node, ..SchedulerConfig::default() };
        SchedulerService::with_store(config, store.clone(), clock.clone()).unwrap()
    });
    for (node, count) in nodes.iter().zip(&counts) {
        let count: &Arc<AtomicU32> = count;
        let count = count.clone();
        let counting = move || {
            count.fetch_add(1, Ordering::SeqCst);
            async {}
        };
        node.register_interval("tick", Duration::from_secs(10), counting).await.unwrap();
        node.start().await.unwrap();
    }
    (nodes, store, counts)
}

fn read<const N: usize>(counts: &[Arc<AtomicU32>; N]) -> [u32; N] {
    std::array::from_fn(|at| counts[at].load(Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn one_node_fires_and_another_runs() {
    let (_nodes, _, counts) = nodes([SCHEDULER, WORKER]).await;
    tokio::time::sleep(Duration::from_secs(65)).await;
    assert_eq!(read(&counts), [0, 6]);
}

#[tokio::test(start_paused = true)]
async fn workers_alone_fire_nothing_and_a_scheduler_alone_runs_nothing() {
    let (_nodes, store, counts) = nodes([WORKER]).await;
    tokio::time::sleep(Duration::from_secs(65)).await;
    assert_eq!(read(&counts), [0]);
    assert_eq!(store.stats().await.unwrap().queued, 0);
    let (_nodes, store, counts) = nodes([SCHEDULER]).await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(read(&counts), [0]);
    assert_eq!(store.stats().await.unwrap().queued, 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_worker_ran_is_found_by_a_node_that_only_schedules() {
    let (nodes, store, _) = nodes([SCHEDULER, WORKER]).await;
    let job = NewJob::named("hang").every(Duration::from_secs(1_000));
    nodes[1].register(job, std::future::pending::<()>).await.unwrap();
    let run = nodes[1].run_job("hang").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(store.execution(run).await.unwrap().status(), "RUNNING");
    let [scheduler, worker] = nodes;
    // Dropped, not shut down: its loops end and nothing is handed back.
    drop(worker);
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(store.execution(run).await.unwrap().status(), "STUCK");
    drop(scheduler);
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_brake_is_pulled_takes_on_nothing_until_it_is_released() {
    let (nodes, _, counts) = nodes([Roles::default()]).await;
    assert!(nodes[0].brake().pull("its clock is wrong"));
    assert!(!nodes[0].brake().pull("its clock is very wrong"), "it is pulled already");
    assert_eq!(nodes[0].brake().reason().as_deref(), Some("its clock is very wrong"));
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(read(&counts), [0]);
    assert!(nodes[0].brake().release());
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(read(&counts)[0] >= 2, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn every_node_says_that_it_is_there() {
    let (nodes, store, _) = nodes([SCHEDULER, WORKER]).await;
    let started = nodes[0].clock().now();
    tokio::time::sleep(Duration::from_secs(31)).await;
    let now = nodes[0].clock().now();
    let seen = store.workers(now.before(Duration::from_secs(6))).await.unwrap();
    let hosts: Vec<_> = seen.iter().map(|worker| (&*worker.host, worker.roles)).collect();
    assert_eq!(hosts, [("node-0", SCHEDULER), ("node-1", WORKER)]);
    assert!(seen.iter().all(|worker| worker.started_at == started && worker.running == 0));
    let [_scheduler, worker] = nodes;
    drop(worker);
    tokio::time::sleep(Duration::from_secs(31)).await;
    let seen = store.workers(now.after(Duration::from_secs(1))).await.unwrap();
    assert_eq!(seen.iter().map(|worker| &*worker.host).collect::<Vec<_>>(), ["node-0"]);
}

#[tokio::test(start_paused = true)]
async fn the_urgent_run_first_when_there_is_room_for_one_at_a_time() {
    let noon: chrono::DateTime<chrono::Utc> = "2026-03-02T12:00:00Z".parse().unwrap();
    let clock = Arc::new(VirtualClock::starting_at(noon));
    let config = SchedulerConfig { max_concurrent_runs: 1, ..SchedulerConfig::default() };
    let scheduler = SchedulerService::with_clock(config, clock).unwrap();
    let order: Arc<Mutex<Vec<u32>>> = Arc::default();
    for level in [1, 9, 5, 0] {
        let order = order.clone();
        let job = NewJob::named(format!("job-{level}"))
            .every(Duration::from_secs(1_000))
            .priority(Priority::new(level).unwrap());
        let noted = move || {
            let order = order.clone();
            async move {
                order.lock().unwrap().push(level);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        scheduler.register(job, noted).await.unwrap();
        scheduler.run_job(&format!("job-{level}")).await.unwrap();
    }
    scheduler.start().await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(*order.lock().unwrap(), [9, 5, 1, 0]);
}
