//! Prints how many executions a second a durable PostgreSQL cluster on this machine claims and finishes.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement prints, reads the clock, and stops at the first trouble"
)]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chronos_core::execution::Report;
use chronos_core::plan::Ending;
use chronos_core::store::{Finish, Terms};
use chronos_core::{JobId, JobSpec, Schedule, Store, Timestamp, WorkerId};
use chronos_pgtest::{Cluster, Durability};
use chronos_store::{PostgresConfig, PostgresStore};

const JOBS: u32 = 8_000;
const BATCH: usize = 512;
const ROUNDS: i64 = 6;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let cluster = Cluster::start(Durability::Durable);
    let config = PostgresConfig::new(&cluster.url("postgres"));
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    let start = Timestamp::parse("2026-11-16T00:00:00Z").unwrap();
    let mut makers = Vec::new();
    for maker in 0..8 {
        let store = store.clone();
        makers.push(tokio::spawn(async move {
            for number in (maker..JOBS).step_by(8) {
                let mut chance = [0; 10];
                chance[..4].copy_from_slice(&number.wrapping_mul(0x9e37_79b1).to_be_bytes());
                chance[6..].copy_from_slice(&number.to_be_bytes());
                let every = Schedule::interval(Duration::from_secs(1), start).unwrap();
                let id = JobId::new(start, chance);
                let spec = JobSpec::new(id, &format!("job {number}"), every, start);
                store.create_job(spec, start).await.unwrap();
            }
        }));
    }
    let made = Instant::now();
    for maker in makers {
        maker.await.unwrap();
    }
    println!("create: {:.0} jobs/s", f64::from(JOBS) / made.elapsed().as_secs_f64());
    cluster.psql("postgres", "VACUUM ANALYZE");
    for round in 1..=ROUNDS {
        let now = start.after(Duration::from_secs(round.unsigned_abs()));
        let fired = measure(&cluster, async || fire(&*store, now).await).await;
        let worked = measure(&cluster, async || work(&*store, now).await).await;
        println!("round {round}: fire {fired} | claim + finish {worked}");
    }
}

async fn fire(store: &dyn Store, now: Timestamp) -> usize {
    let mut fired = 0;
    loop {
        let planned = store.fire_due(now, BATCH, None).await.unwrap().planned.len();
        fired += planned;
        if planned == 0 {
            return fired;
        }
    }
}

async fn work(store: &dyn Store, now: Timestamp) -> usize {
    let (worker, terms) =
        (WorkerId::new("worker-1"), Terms { now, lease: Duration::from_secs(30) });
    let mut done = 0;
    loop {
        let claims = store.claim(&worker, terms, BATCH).await.unwrap().claims;
        if claims.is_empty() {
            return done;
        }
        let ends = claims.iter().map(|claim| Finish {
            hold: claim.hold,
            ending: Ending::Success,
            report: Report::at(now),
        });
        let ends: Vec<_> = store.finish(ends.collect(), now).await.unwrap();
        assert!(ends.iter().all(Result::is_ok));
        done += ends.len();
    }
}

/// What some work cost: executions a second, and CPU for each of them here and in PostgreSQL.
async fn measure(cluster: &Cluster, work: impl AsyncFnOnce() -> usize) -> String {
    let before = (Instant::now(), cpu(cluster));
    let done = work().await as f64;
    let (elapsed, after) = (before.0.elapsed(), cpu(cluster));
    let each = |after: f64, before: f64| (after - before) * 1e6 / done;
    let (server, here) = (each(after.0, before.1.0), each(after.1, before.1.1));
    let rate = done / elapsed.as_secs_f64();
    format!("{rate:.0}/s ({server:.0} us of PostgreSQL, {here:.0} us here)")
}

/// Seconds of CPU that the cluster and this process have used.
fn cpu(cluster: &Cluster) -> (f64, f64) {
    let pid = fs::read_to_string(cluster.directory().join("data/postmaster.pid")).unwrap();
    let postmaster: u32 = pid.lines().next().unwrap().parse().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let used = pids.filter_map(used_by).filter(|used| used.0 == postmaster);
    let here = used_by(std::process::id()).unwrap().1;
    (used.map(|used| used.1).sum(), here)
}

/// The parent of a process, and the seconds of CPU that the process has used.
fn used_by(pid: u32) -> Option<(u32, f64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
    Some((fields[1].parse().ok()?, ticks / 100.0))
}
