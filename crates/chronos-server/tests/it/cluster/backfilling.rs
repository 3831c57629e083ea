//! Backfills in a cluster: whichever node plans takes them on, and none is lost with a node.

use std::time::Duration;

use chronos_pgtest::Cluster;
use serde_json::{Value, json};

use super::nodes::Database;
use crate::crash::backfilling::{SLOTS, begin, call, check_ledger};
use crate::crash::endpoint::Endpoint;
use crate::daemon::soon;
use crate::rest::text;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backfill_goes_on_when_the_node_dies_that_was_asked_for_it() {
    let database = Database::fresh(Cluster::shared());
    let mut nodes = database.nodes(2).await;
    let endpoint = Endpoint::open().await;
    let (job, made) = begin(nodes[0].address, &endpoint).await;
    let path = format!("/backfills/{}", text(&made["id"]));
    let other = nodes[1].address;
    let when = async |is: &dyn Fn(&Value) -> bool| {
        soon(async {
            loop {
                let told = call(other, "GET", &path, &Value::Null).await;
                if is(&told) {
                    return told;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    };
    when(&|told| told["done"].as_u64() >= Some(SLOTS / 5)).await;
    nodes[0].process.kill();
    let done = when(&|told| told["ended_at"].is_string()).await;
    assert_eq!((&done["state"], &done["succeeded"]), (&json!("finished"), &json!(SLOTS)));
    check_ledger(other, &job, &endpoint).await;
    nodes[1].process.stop().await;
}
