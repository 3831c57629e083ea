//! Sharing: nodes that share a database each keep a history of all of it, and jobs of their own about it.

use std::net::SocketAddr;
use std::time::Duration;

use chronos_pgtest::Cluster;
use chronos_store::{PostgresConfig, PostgresStore};
use serde_json::Value;

use super::{figures, fill, get, told_all};
use crate::cluster::nodes::Database;
use crate::rest::send;
use crate::serving::Serving;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_tells_all_that_happened_and_runs_its_own_jobs_about_it() {
    let database = Database::fresh(Cluster::shared());
    let url = database.url();
    let store = PostgresStore::open(PostgresConfig::new(&url)).await.unwrap();
    let jobs = fill(&store, &["", "ann"], 48).await;
    let expected: Vec<_> = jobs.iter().map(|(_, counts)| counts.clone()).collect();
    drop(store);
    let directory = tempfile::tempdir().unwrap();
    let mut nodes = Vec::new();
    for name in ["one", "two"] {
        let data = directory.path().join(name);
        let (daemon, address) =
            Serving::over(&data, &["--database-url", &url, "--node", name]).await;
        told_all(address).await;
        assert_eq!(figures(address, &jobs).await, expected);
        assert!(data.join("history/engine").is_dir());
        nodes.push((daemon, address, data));
    }
    for (_, address, data) in &nodes {
        let (server, place) = (format!("http://{address}"), data.display().to_string());
        let at = ["--server", &server, "--data-dir", &place];
        let list = crate::answer(&[&["scheduler", "list"], &at[..]].concat());
        for name in ["toc_rollup_day", "toc_prune", "compaction", "prune"] {
            assert_eq!(list.matches(&format!("\n{name} ")).count(), 1, "{name} in {list}");
        }
        let run = crate::answer(&[&["scheduler", "run", "toc_rollup_month"], &at[..]].concat());
        assert!(run.starts_with("SUCCESS"), "{run}");
        crate::answer(&[&["scheduler", "pause", "toc_rollup_day"], &at[..]].concat());
        let one = crate::answer(&[&["scheduler", "status", "toc_rollup_day"], &at[..]].concat());
        assert!(one.contains("paused"), "{one}");
        steer_by_requests(*address).await;
    }
    for (daemon, ..) in &mut nodes {
        daemon.stop().await;
    }
}

/// This node's own jobs are jobs like others for whoever asks by REST.
async fn steer_by_requests(address: SocketAddr) {
    for query in ["name=toc_rollup", "name=toc_rollup&sort=next_run", "name=toc_rollup&limit=2"] {
        let (mut names, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = get(address, &format!("/jobs?{query}{cursor}")).await;
            for job in page["items"].as_array().unwrap() {
                names.push(job["name"].as_str().unwrap().to_owned());
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        names.sort();
        assert_eq!(names, ["toc_rollup_day", "toc_rollup_month", "toc_rollup_week"], "{query}");
    }
    let found = get(address, "/jobs?name=toc_rollup_day").await;
    let job = found["items"][0].clone();
    assert_ne!(job["paused"], Value::Null, "{job}");
    let path = format!("/jobs/{}", job["id"].as_str().unwrap());
    let resumed = send(address, "POST", &format!("{path}/resume"), "", b"").await.expect(200);
    assert_eq!(resumed["paused"], Value::Null);
    let run = send(address, "POST", &format!("{path}/run"), "", b"").await.expect(201);
    let run = format!("/executions/{}", run["id"].as_str().unwrap());
    let ended = async {
        while get(address, &run).await["status"] != "SUCCESS" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap();
    let runs = get(address, &format!("{path}/executions")).await;
    assert_eq!(runs["items"][0]["status"], "SUCCESS", "{runs}");
    assert!(get(address, &format!("{path}/preview?count=2")).await["runs"][1].is_object());
}
