//! Quiet hours and pauses on several nodes: each keeps to what another was told.

use std::time::Duration;

use chronos_engine::{Clock as _, SystemClock};
use chronos_pgtest::Cluster;
use serde_json::{Value, json};

use super::nodes::Database;
use crate::crash::endpoint::Endpoint;
use crate::daemon::soon;
use crate::rest::{Answer, JSON, send, text};

async fn ask(address: std::net::SocketAddr, method: &str, path: &str, body: &Value) -> Answer {
    send(address, method, path, JSON, body.to_string().as_bytes()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_of_one_node_holds_on_all() {
    let (database, endpoint) = (Database::fresh(Cluster::shared()), Endpoint::open().await);
    let nodes = database.nodes(2).await;
    let (a, b) = (nodes[0].address, nodes[1].address);
    let always = json!({"name": "always", "windows": [{"start": "00:00", "end": "24:00"}]});
    let policy = ask(a, "POST", "/quiet-hours", &always).await.expect(201);
    let path = format!("/quiet-hours/{}", text(&policy["id"]));
    assert_eq!(ask(b, "GET", &path, &json!({})).await.expect(200), policy);
    ask(b, "POST", "/quiet-hours", &always).await.refused(409);
    let job = json!({
        "name": "tick", "schedule": {"type": "interval", "seconds": 1},
        "target": {"type": "http", "url": endpoint.url("ok")},
        "quiet_hours_policy_id": policy["id"],
    });
    let job = ask(b, "POST", "/jobs/recurring", &job).await.expect(201);
    let told = format!("/jobs/{}", text(&job["id"]));
    let counted = async |field: &str| {
        soon(async {
            loop {
                let told = ask(a, "GET", &told, &json!({})).await.expect(200);
                if told["counts"][field] != 0 {
                    return told;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await
    };
    assert_eq!(counted("skipped").await["counts"]["fired"], 0);
    let in_use = ask(b, "DELETE", &path, &json!({})).await.expect(409);
    assert_eq!(in_use["in_use"]["jobs"], json!([{"id": job["id"], "name": "tick"}]));
    ask(a, "PATCH", &path, &json!({"windows": []})).await.expect(200);
    counted("succeeded").await;
    let end = SystemClock::new().now().after(Duration::from_secs(3)).to_string();
    let pause = json!({"note": "a moment", "resume_at": end});
    let paused = ask(b, "POST", &format!("{told}/pause"), &pause).await.expect(200);
    assert_eq!(paused["paused"]["resume_at"], pause["resume_at"]);
    let fired = paused["counts"]["fired"].as_u64().unwrap();
    soon(async {
        loop {
            let told = ask(a, "GET", &told, &json!({})).await.expect(200);
            if told["paused"] == Value::Null && told["counts"]["fired"].as_u64() > Some(fired) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}
