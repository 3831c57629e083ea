//! Figures about the whole system, and its workers.

use std::time::Duration;

use serde_json::json;

use super::{hourly, text};
use crate::daemon::house::{HANDLERS, House, get};
use crate::daemon::soon;

#[tokio::test]
async fn figures_count_jobs_and_executions_as_the_metrics_do() {
    let house = House::open().await;
    let wait = house.make(&hourly("w", "wait")).await;
    let off = house.make(&hourly("off", "succeed")).await;
    let fail = house.make(&hourly("f", "fail")).await;
    house.ask("DELETE", &format!("/jobs/{}", text(&off["id"]))).await.expect(200);
    house.ask("POST", &format!("/jobs/{}/pause", text(&fail["id"]))).await.expect(200);
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&fail["id"]))).await.expect(201);
    house.wait_for(text(&run["id"]), "FAILED").await;
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&wait["id"]))).await.expect(201);
    house.wait_for(text(&run["id"]), "RUNNING").await;
    let figures = house.get("/monitoring/jobs").await.expect(200);
    let own = HANDLERS.len();
    assert_eq!(
        figures["jobs"],
        json!({
            "total": own + 3, "created": 3, "pending": own + 1, "running": 1, "retry_pending": 0,
            "success": 0, "failed": 0, "disabled": 1, "paused": 1,
        })
    );
    assert_eq!(figures["executions"]["running"], 1);
    assert_eq!(figures["executions"]["failed"], 1);
    assert_eq!(figures["throughput"]["runs"], 1);
    assert!(figures["avg_duration_ms"].is_f64() && figures["start_lag"]["avg_ms"].is_f64());
    assert!(figures["scheduler_scan"]["max_ms"].is_f64(), "{figures}");
    let lag = |part: &str| figures["start_lag"][part].as_f64().unwrap();
    assert!(lag("p50_ms") <= lag("p99_ms") && lag("p99_ms") <= lag("max_ms"), "{figures}");
    assert_eq!((&figures["overdue"], &figures["clock_skew_ms"]), (&json!(0), &json!(null)));
    let (_, metrics) = get(house.address(), "/metrics").await;
    assert!(metrics.contains("chronos_executions_total{status=\"failed\"} 1"), "{metrics}");
    house.leave.add_permits(1);
    house.wait_for(text(&run["id"]), "SUCCESS").await;
    house.close().await;
}

#[tokio::test]
async fn the_worker_of_this_node_is_told() {
    let house = House::open().await;
    let job = house.make(&hourly("w", "wait")).await;
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
    let run = house.wait_for(text(&run["id"]), "RUNNING").await;
    // It tells how it is at every heartbeat.
    let worker = soon(async {
        loop {
            let workers = house.get("/monitoring/workers").await.expect(200);
            let [worker] = &workers["items"].as_array().unwrap()[..] else {
                panic!("{workers}");
            };
            if worker["running"] == 1 {
                return worker.clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(worker["worker_id"], run["worker_id"]);
    assert_eq!(worker["roles"], json!(["api", "scheduler", "worker"]));
    assert!(worker["capacity"].as_u64().unwrap() > 0);
    for field in ["host", "version", "started_at", "last_seen"] {
        assert!(!text(&worker[field]).is_empty(), "{field}");
    }
    house.leave.add_permits(1);
    house.wait_for(text(&run["id"]), "SUCCESS").await;
    house.close().await;
}
