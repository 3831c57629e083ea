//! Subscriptions in a cluster: one node delivers at a time, and another goes on when it dies.

use std::sync::Arc;
use std::time::Duration;

use chronos_pgtest::Cluster;
use serde_json::json;
use tokio::sync::Notify;

use super::nodes::{Database, Node};
use crate::pushing::{Reply, SIGNING, Target, make, subscription, subscription_when};
use crate::rest::events::{run, says};
use crate::rest::text;

/// The name of the node that delivers, once one does.
async fn deliverer(database: &Database<'_>) -> String {
    let read =
        "SELECT subscription -> 'delivery' -> 'lease' ->> 'worker' FROM chronos.subscriptions";
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let worker = database.psql(read);
            if let Some(name) = worker.trim().chars().next() {
                return name.to_string();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    waited.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_delivers_at_a_time_and_another_goes_on_when_it_dies() {
    let database = Database::fresh(Cluster::shared());
    let key = database.key("secret.key", 7);
    let mut nodes: Vec<Node> = Vec::new();
    for name in ["a", "b"] {
        nodes.push(database.node(name, &["--secret-key-file", &key]).await);
    }
    let addresses = [nodes[0].address, nodes[1].address];
    let target = Target::answering(|_| {
        // Long enough for another to meet it, if there were one.
        std::thread::sleep(Duration::from_millis(3));
        200_u16.into()
    })
    .await;
    let mut asked = subscription(&target);
    asked["signing_secret"] = json!(SIGNING);
    let made = make(addresses[0], "/subscriptions", &asked).await;
    let job = make(addresses[1], "/jobs/recurring", &says("report")).await;
    let job = text(&job["id"]).to_owned();
    let kept = database.psql("SELECT subscription FROM chronos.subscriptions");
    assert!(!kept.contains(SIGNING) && kept.contains("Sealed"), "{kept}");
    for round in 0..30 {
        run(addresses[round % 2], &job).await;
    }
    target.until(30).await;
    assert_eq!(target.sequences(), (1..=30).collect::<Vec<_>>(), "each once, in order");
    let dies = deliverer(&database).await;
    let (dying, living) = if dies == "a" { (0, 1) } else { (1, 0) };
    for _ in 0..30 {
        run(addresses[living], &job).await;
    }
    target.until(35).await;
    nodes[dying].process.kill();
    for _ in 0..10 {
        run(addresses[living], &job).await;
    }
    let told = subscription_when(addresses[living], &made["id"], |it| it["cursor"] == 70).await;
    let came = target.sequences();
    let mut distinct = came.clone();
    distinct.dedup();
    assert_eq!(distinct, (1..=70).collect::<Vec<_>>(), "{came:?}");
    assert!(came.len() <= 71, "one at most was sent again: {came:?}");
    assert_eq!(target.most_at_once(), 1);
    assert!(target.came().iter().all(|came| came.is_signed_with(SIGNING)));
    let fence = |came: &crate::pushing::Came| came.header("chronos-fence").parse::<u64>().unwrap();
    assert!(target.came().is_sorted_by_key(fence), "fences grow");
    assert_eq!(told["status"], "active");
    assert_ne!(deliverer(&database).await, dies);
    nodes[living].process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_in_order_hands_its_subscriptions_over_at_once() {
    let database = Database::fresh(Cluster::shared());
    let mut nodes = database.nodes(2).await;
    let target = Target::open().await;
    make(nodes[0].address, "/subscriptions", &subscription(&target)).await;
    let job = make(nodes[0].address, "/jobs/recurring", &says("report")).await;
    run(nodes[0].address, text(&job["id"])).await;
    target.until(1).await;
    let stops = usize::from(deliverer(&database).await == "b");
    nodes[stops].process.stop().await;
    run(nodes[1 - stops].address, text(&job["id"])).await;
    target.until(2).await;
    assert_eq!(target.sequences(), [1, 2]);
    nodes[1 - stops].process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_froze_while_it_delivered_moves_nothing_when_it_wakes() {
    let database = Database::fresh(Cluster::shared());
    let mut nodes = database.nodes(2).await;
    let addresses = [nodes[0].address, nodes[1].address];
    let (let_go, mut first) = (Arc::new(Notify::new()), true);
    let held = let_go.clone();
    let target = Target::answering(move |_| {
        let is_first = std::mem::take(&mut first);
        Reply { held: is_first.then(|| held.clone()), ..200_u16.into() }
    })
    .await;
    let made = make(addresses[0], "/subscriptions", &subscription(&target)).await;
    let job = make(addresses[0], "/jobs/recurring", &says("report")).await;
    for _ in 0..3 {
        run(addresses[0], text(&job["id"])).await;
    }
    target.until(1).await;
    let frozen = usize::from(deliverer(&database).await == "b");
    nodes[frozen].process.signal("STOP");
    let living = addresses[1 - frozen];
    subscription_when(living, &made["id"], |it| it["cursor"] == 3).await;
    assert_eq!(target.sequences(), [1, 1, 2, 3], "another went on from the cursor");
    let_go.notify_one();
    nodes[frozen].process.signal("CONT");
    nodes[frozen].process.line("Subscription lost").await;
    run(living, text(&job["id"])).await;
    let told = subscription_when(living, &made["id"], |it| it["cursor"] == 4).await;
    assert_eq!(target.sequences(), [1, 1, 2, 3, 4]);
    assert_eq!(told["delivered"], 4, "what the frozen one learnt too late does not count");
    for node in &mut nodes {
        node.process.stop().await;
    }
}
