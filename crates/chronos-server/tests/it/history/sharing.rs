//! Sharing: nodes that share a database each keep a history of all of it, and jobs of their own about it.

use chronos_pgtest::Cluster;
use chronos_store::{PostgresConfig, PostgresStore};

use super::{figures, fill, told_all};
use crate::cluster::nodes::Database;
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
    }
    for (daemon, ..) in &mut nodes {
        daemon.stop().await;
    }
}
