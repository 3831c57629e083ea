//! The history of a real daemon: told, owned, made again, and kept through every kill.

mod killing;
mod repairing;
mod searching;
mod sharing;
mod telling;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use chronos_core::execution::{Failure, Report};
use chronos_core::plan::{Change, Ending};
use chronos_core::store::{Finish, Terms};
use chronos_core::{Http, JobId, JobSpec, Schedule, Store, Timestamp, WorkerId};
use chronos_store::{Engine, Retention, StoreUrl, Tuning};
use serde_json::Value;

use crate::rest::send;

const HOUR: Duration = Duration::from_hours(1);

/// A jobs's runs, by how they ended.
type Counts = BTreeMap<&'static str, u64>;

/// The first instant that is told of: the week belongs to the year before.
fn beginning() -> Timestamp {
    Timestamp::parse("2025-12-29T00:00:00Z").unwrap()
}

/// Fills a store with jobs that ran once an hour, long ago, and are off since; says what there is of each.
async fn fill(store: &dyn Store, owners: &[&str], hours: u32) -> Vec<(JobId, Counts)> {
    let mut jobs: Vec<(JobId, Counts)> = Vec::new();
    for (owner, number) in owners.iter().zip(0_u8..) {
        let id = JobId::new(beginning(), [number; 10]);
        let schedule = Schedule::interval(HOUR, beginning()).unwrap();
        let spec = JobSpec {
            owner: (*owner).into(),
            ..JobSpec::new(id, &format!("past-{number}"), schedule, beginning())
        };
        let spec = spec.with_target(Http::new("https://billing.internal/sync").unwrap());
        store.create_job(spec, beginning()).await.unwrap();
        jobs.push((id, Counts::new()));
    }
    let worker = WorkerId::new("w");
    for hour in 0..hours {
        let now = beginning().after(HOUR * hour).after(Duration::from_secs(1));
        store.fire_due(now, 1_000, None).await.unwrap();
        let terms = Terms { now, lease: Duration::from_secs(30) };
        let claims = store.claim(&worker, terms, 1_000.into()).await.unwrap().claims;
        let mut ends = Vec::new();
        for claim in claims {
            let (number, (_, counts)) =
                jobs.iter_mut().enumerate().find(|(_, (id, _))| *id == claim.spec.id).unwrap();
            let number = u32::try_from(number).unwrap();
            let (ending, status) = if (hour + number) % 5 == 0 {
                (Ending::Failed(Failure::permanent("no connection to db: refused")), "failed")
            } else {
                (Ending::Success, "success")
            };
            *counts.entry(status).or_default() += 1;
            let report = Report::at(now.after(Duration::from_millis(100 + u64::from(number))));
            ends.push(Finish { hold: claim.hold, ending, report });
        }
        store.finish(ends, now.after(Duration::from_secs(1))).await.unwrap();
    }
    let end = beginning().after(HOUR * hours);
    for (id, _) in &jobs {
        store.amend_job(*id, Change::Disable, None, end).await.unwrap();
    }
    jobs
}

async fn fill_directory(path: &Path, owners: &[&str], hours: u32) -> Vec<(JobId, Counts)> {
    let url = StoreUrl::Directory(Engine::Fjall, path.into());
    let store = chronos_store::open(&url, Retention::default(), Tuning::default()).unwrap();
    fill(&store, owners, hours).await
}

async fn get(address: SocketAddr, path: &str) -> Value {
    send(address, "GET", path, "", b"").await.expect(200)
}

/// The history's standing, once it has read and rolled up all there is.
async fn told_all(address: SocketAddr) -> Value {
    let all = async {
        loop {
            let standing = get(address, "/history").await;
            let read = standing["read"].as_u64() >= Some(1) && standing["status"] == "following";
            if read && standing["to_roll_up"] == false {
                return standing;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(100), all).await;
    match told {
        Ok(told) => told,
        Err(late) => panic!("not told in time, {late}: {}", get(address, "/history").await),
    }
}

/// What the years say of how runs ended before the daemon's own began: the built-in jobs run today.
async fn figures(address: SocketAddr, jobs: &[(JobId, Counts)]) -> Vec<Counts> {
    let mut figures = Vec::new();
    for (id, _) in jobs {
        let days = "from=2025-12-29T00:00:00Z&to=2026-12-01T00:00:00Z";
        let told = get(address, &format!("/history/jobs/{id}?{days}")).await;
        let endings = &told["total"]["endings"];
        let count = |kind: &'static str| Some((kind, endings[kind].as_u64().unwrap()));
        let counts = [count("success"), count("failed")].into_iter().flatten();
        figures.push(counts.filter(|(_, count)| *count > 0).collect());
    }
    figures
}
