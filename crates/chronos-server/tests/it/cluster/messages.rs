//! Message events in a cluster: said at one node, heard at another.

use chronos_pgtest::Cluster;
use serde_json::{Value, json};

use super::nodes::Database;
use crate::daemon::soon;
use crate::rest::events::{run, says, sequences, stream};
use crate::rest::{JSON, send, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_says_is_heard_at_another_in_order() {
    let database = Database::fresh(Cluster::shared());
    let mut nodes = database.nodes(2).await;
    let (one, other) = (nodes[0].address, nodes[1].address);
    let body = says("report").to_string();
    let made = send(one, "POST", "/jobs/recurring", JSON, body.as_bytes()).await.expect(201);
    let id = text(&made["id"]).to_owned();
    let waiting = tokio::spawn(async move {
        send(other, "GET", "/events?after=0&wait=20", "", b"").await.expect(200)
    });
    run(one, &id).await;
    let page = soon(waiting).await.unwrap();
    assert_eq!(page["next_cursor"], "1");
    let speakers = [one, other].map(|node| {
        let id = id.clone();
        tokio::spawn(async move {
            for _ in 0..10 {
                run(node, &id).await;
            }
        })
    });
    for speaker in speakers {
        speaker.await.unwrap();
    }
    for node in [one, other] {
        let (events, cursor) = stream(node, "/events/stream?after=1", "", 999_000).await;
        assert_eq!(sequences(&events), (2..=21).collect::<Vec<_>>());
        assert_eq!(cursor, Some(21));
        let all: Value = send(node, "GET", "/events?after=1", "", b"").await.expect(200);
        assert_eq!(all["items"], json!(events));
    }
    for node in &mut nodes {
        node.process.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_survives_the_node_that_said_it() {
    let database = Database::fresh(Cluster::shared());
    let mut nodes = database.nodes(2).await;
    let (one, other) = (nodes[0].address, nodes[1].address);
    let body = says("report").to_string();
    let made = send(one, "POST", "/jobs/recurring", JSON, body.as_bytes()).await.expect(201);
    run(one, text(&made["id"])).await;
    nodes[0].process.kill();
    let page = send(other, "GET", "/events", "", b"").await.expect(200);
    assert_eq!(sequences(page["items"].as_array().unwrap()), [1]);
    nodes[1].process.stop().await;
}
