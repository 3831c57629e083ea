//! A node that is killed, at every point of a run's way.

use std::time::Duration;

use chronos_core::{Execution, Store, Timestamp};
use chronos_engine::{Clock, SystemClock};
use chronos_pgtest::Cluster;
use chronos_server::proto::Schedule;
use chronos_server::proto::schedule::Cadence;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::load::{background, holder, recovered, settle, statuses};
use super::nodes::{Database, Node, by_hand, job, until};
use crate::crash::endpoint::Endpoint;
use crate::daemon::soon;

/// Kills the node of this name; gives back when.
fn kill(nodes: &mut Vec<Node>, name: &str) -> Timestamp {
    let place = nodes.iter().position(|node| node.name == name).unwrap();
    nodes.remove(place).process.kill();
    SystemClock::new().now()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_was_about_to_claim_is_claimed_by_another() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut nodes = database.nodes(3).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let slot = Timestamp::from_secs(SystemClock::new().now().as_secs() + 2);
    let at = prost_types::Timestamp { seconds: slot.as_secs(), nanos: 0 };
    let once = Schedule { cadence: Some(Cadence::OneShot(at)), ..Schedule::default() };
    let once = nodes[0].create(job("once", &endpoint.url("ok"), once)).await;
    // Whoever fires it has decided, and waits to write.
    let mut somebody = database.cluster.session(&database.name);
    SystemClock::new().sleep_until(slot.before(Duration::from_millis(200))).await;
    somebody.run("BEGIN; LOCK TABLE chronos.live_executions IN EXCLUSIVE MODE");
    SystemClock::new().sleep_until(slot.after(Duration::from_millis(100))).await;
    let firing = until(&store, async |_| database.blocked_at("live_executions").pop()).await;
    let killed_at = kill(&mut nodes, &firing);
    somebody.run("COMMIT");
    let attempts = recovered(&store, once, killed_at).await;
    assert_eq!(statuses(&attempts), ["SUCCESS"]);
    assert_eq!((attempts[0].slot, attempts[0].attempt), (slot, 1), "no attempt was used up");
    settle(&store, nodes, &jobs, &endpoint).await;
}

/// A port where connections wait for someone to take them, and no further one gets that far.
async fn deaf() -> (TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    let patience = Duration::from_millis(300);
    while let Ok(connected) = tokio::time::timeout(patience, TcpStream::connect(address)).await {
        waiting.push(connected.unwrap());
    }
    (listener, waiting)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_claimed_and_never_sent_is_sent_once() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut nodes = database.nodes(3).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let (listener, waiting) = deaf().await;
    let url = format!("http://{}/ok", listener.local_addr().unwrap());
    let claimed = nodes[0].create(by_hand("claimed", &url)).await;
    let run = nodes[0].run("claimed").await;
    let holder = nodes[holder(&store, run, &nodes).await].name.clone();
    let killed_at = kill(&mut nodes, &holder);
    drop(waiting);
    let target = Endpoint::at(listener);
    let attempts = recovered(&store, claimed, killed_at).await;
    assert_eq!(statuses(&attempts), ["SUCCESS", "STUCK"]);
    let calls = target.calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0].attempt, 2);
    settle(&store, nodes, &jobs, &endpoint).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_had_under_way_is_taken_over() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut nodes = database.nodes(3).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let held = nodes[0].create(by_hand("held", &endpoint.url("hangs"))).await;
    let run = nodes[0].run("held").await;
    soon(endpoint.called(run)).await;
    let holder = nodes[holder(&store, run, &nodes).await].name.clone();
    let killed_at = kill(&mut nodes, &holder);
    let attempts = recovered(&store, held, killed_at).await;
    two_calls_of_one_key(&attempts, &endpoint);
    let seen = settle(&store, nodes, &jobs, &endpoint).await;
    assert!(seen.slots > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_was_not_committed_is_had_again() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let mut nodes = database.nodes(3).await;
    let store = database.store().await;
    let jobs = background(&nodes[0], &endpoint).await;
    let ended = nodes[0].create(by_hand("ended", &endpoint.url("slow"))).await;
    let run = nodes[0].run("ended").await;
    soon(endpoint.called(run)).await;
    let holder = nodes[holder(&store, run, &nodes).await].name.clone();
    // Ends are filed here, so none is until the lock is given up.
    let mut somebody = database.cluster.session(&database.name);
    somebody.run("BEGIN; LOCK TABLE chronos.job_executions IN EXCLUSIVE MODE");
    soon(endpoint.answered(run)).await;
    until(&store, async |_| {
        let mut blocked = database.blocked_at("job_executions").into_iter();
        blocked.find(|name| *name == holder)
    })
    .await;
    assert_eq!(store.execution(run).await.unwrap().status(), "RUNNING", "nothing is committed");
    let killed_at = kill(&mut nodes, &holder);
    somebody.run("COMMIT");
    let attempts = recovered(&store, ended, killed_at).await;
    two_calls_of_one_key(&attempts, &endpoint);
    settle(&store, nodes, &jobs, &endpoint).await;
}

/// The first attempt was lost after it had called, and the second succeeded.
fn two_calls_of_one_key(attempts: &[Execution], endpoint: &Endpoint) {
    assert_eq!(statuses(attempts), ["SUCCESS", "STUCK"]);
    let calls = endpoint.calls();
    let calls: Vec<_> = calls.iter().filter(|called| called.job == attempts[0].job).collect();
    assert_eq!(calls.len(), 2, "one for each attempt: {calls:?}");
    assert_eq!(calls[0].key, calls[1].key);
    assert!(calls[0].fence < calls[1].fence);
}
