//! Killing: whatever the history's jobs are at, a kill leaves figures that are those of the raw executions.

use std::time::Duration;

use fastrand::Rng;

use super::{figures, fill_directory, get, told_all};
use crate::serving::{Serving, say};

/// Every built-in job runs every second, and nothing is kept for long but what is told here.
const SERVE: [&str; 26] = [
    "--rollup-day-cron",
    "* * * * * *",
    "--rollup-week-cron",
    "* * * * * *",
    "--rollup-month-cron",
    "* * * * * *",
    "--rollup-jitter-secs",
    "0",
    "--index-commit-cron",
    "* * * * * *",
    "--index-commit-jitter-secs",
    "0",
    "--prune-cron",
    "* * * * * *",
    "--prune-jitter-secs",
    "0",
    "--compaction-cron",
    "* * * * * *",
    "--compaction-jitter-secs",
    "0",
    "--history-days",
    "36500",
    "--toc-hour-days",
    "30",
    "--history-per-job",
    "1000000",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_are_those_of_the_raw_executions_however_often_it_is_killed() {
    let setting = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let kills = setting("CHRONOS_CRASH_KILLS").unwrap_or(8);
    let seed = setting("CHRONOS_CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    say(&format!("{kills} kills; replay the dice with CHRONOS_CRASH_SEED={seed}"));
    let mut dice = Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let jobs = fill_directory(&data, &["", "", "", "", "ann", "bob"], 900).await;
    let expected: Vec<_> = jobs.iter().map(|(_, counts)| counts.clone()).collect();
    for _ in 0..kills {
        let (mut daemon, address) = Serving::over(&data, &SERVE).await;
        tokio::time::sleep(Duration::from_millis(dice.u64(0..1_200))).await;
        // Every other time from its beginning.
        if dice.bool() {
            crate::rest::send(address, "POST", "/history/rebuild", "", b"").await.expect(202);
            tokio::time::sleep(Duration::from_millis(dice.u64(0..300))).await;
        }
        daemon.kill();
    }
    let (mut daemon, address) = Serving::over(&data, &SERVE).await;
    told_all(address).await;
    assert_eq!(figures(address, &jobs).await, expected);
    let year = get(address, "/history/toc/toc:month:2026-01").await;
    // Five weeks are January's, the first of which lacks the hour in which the jobs were made.
    let runs: u64 = year["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|week| week["endings"]["total"].as_u64().unwrap())
        .sum();
    assert_eq!(year["figures"]["endings"]["total"].as_u64(), Some(runs));
    assert_eq!(runs, 6 * (24 * 7 * 5 - 1), "{year}");
    // Hours are no longer kept by then, days are; and nothing of them was lost.
    let pruned = async {
        loop {
            let hour = "/history/toc/toc:hour:2026-01-05T03";
            if crate::rest::send(address, "GET", hour, "", b"").await.status == 404 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), pruned).await.expect("hours go");
    assert_eq!(figures(address, &jobs).await, expected);
    let day = get(address, "/history/toc/toc:day:2026-01-05").await;
    assert_eq!(day["figures"]["endings"]["total"], 6 * 24);
    daemon.stop().await;
}
