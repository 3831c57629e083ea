//! Restarts: what a daemon knew when it ended, in order or not, the next one knows.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_engine::{Clock, JobContext, NewJob, SchedulerService, SystemClock};
use chronos_server::daemon::{Daemon, ServeConfig};
use chronos_server::proto::{
    CreateJobRequest, Execution, GetJobRequest, Job, ListExecutionsRequest, PauseJobRequest,
    RunJobRequest, UpdateJobRequest,
};
use chronos_store::{Engine, StoreUrl};

use super::endpoint::Endpoint;
use super::specs::{Rhythm, spec};
use crate::daemon::house::client;
use crate::daemon::soon;
use crate::serving::Serving;

/// How often a test looks for what it waits for.
const LOOK: Duration = Duration::from_millis(20);

async fn job(daemon: SocketAddr, name: &str) -> Job {
    let request = GetJobRequest { job: name.into() };
    soon(client(daemon).await.get_job(request)).await.unwrap().into_inner()
}

/// The job, once it is as described.
async fn job_when(daemon: SocketAddr, name: &str, is: impl Fn(&Job) -> bool) -> Job {
    soon(async {
        loop {
            let job = job(daemon, name).await;
            if is(&job) {
                return job;
            }
            tokio::time::sleep(LOOK).await;
        }
    })
    .await
}

/// A job's executions, newest first.
async fn executions(daemon: SocketAddr, name: &str) -> Vec<Execution> {
    let request = ListExecutionsRequest { job: name.into(), limit: 1_000, cursor: String::new() };
    soon(client(daemon).await.list_executions(request)).await.unwrap().into_inner().executions
}

async fn create(daemon: SocketAddr, spec: chronos_server::proto::JobSpec) -> Job {
    let request = CreateJobRequest { spec: Some(spec) };
    soon(client(daemon).await.create_job(request)).await.unwrap().into_inner()
}

/// A rhythm that does not strike while a test runs.
fn never() -> Rhythm {
    Rhythm::Once(Timestamp::from_secs(4_000_000_000))
}

#[tokio::test]
async fn pause_version_counters_and_history_survive_a_stop_and_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let endpoint = Endpoint::open().await;
    let (mut daemon, mut address) = Serving::over(&data, &[]).await;
    for (name, number, path) in [("good", 6, "ok"), ("bad", 8, "flaky")] {
        create(address, spec(name, number, never(), 1, &endpoint.url(path))).await;
        let edited = spec(name, number, never(), 1, &endpoint.url(&format!("{path}?edited")));
        let request =
            UpdateJobRequest { job: name.into(), spec: Some(edited), expected_version: 1 };
        soon(client(address).await.update_job(request)).await.unwrap();
        for runs in 1..=2 {
            let request = RunJobRequest { job: name.into() };
            soon(client(address).await.run_job(request)).await.unwrap();
            job_when(address, name, |job| job.succeeded == runs).await;
        }
    }
    let request =
        PauseJobRequest { job: "good".into(), note: "until Monday".into(), resume_at: None };
    soon(client(address).await.pause_job(request)).await.unwrap();
    let mut known = Vec::new();
    for name in ["good", "bad"] {
        known.push((job(address, name).await, executions(address, name).await));
    }
    let pause = known[0].0.paused.as_ref().unwrap();
    assert_eq!((known[0].0.version, pause.note.as_str()), (2, "until Monday"));
    assert_eq!((known[1].0.succeeded, known[1].0.failed, known[1].1.len()), (2, 2, 4));
    for ends_in_order in [true, false, true] {
        if ends_in_order {
            daemon.stop().await;
        } else {
            daemon.kill();
        }
        (daemon, address) = Serving::over(&data, &[]).await;
        for (before, history) in &known {
            let name = &before.spec.as_ref().unwrap().name;
            assert_eq!(job(address, name).await, *before, "in order: {ends_in_order}");
            assert_eq!(executions(address, name).await, *history, "in order: {ends_in_order}");
        }
    }
}

#[tokio::test]
async fn the_job_of_a_closure_meets_what_is_stored_of_it_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let every_second = ["--compaction-cron", "* * * * * *", "--compaction-jitter-secs", "0"];
    let (mut daemon, address) = Serving::over(&data, &every_second).await;
    let before = job_when(address, "compaction", |job| job.succeeded >= 2).await;
    daemon.kill();
    let (_daemon, address) = Serving::over(&data, &every_second).await;
    let after = job_when(address, "compaction", |job| job.succeeded > before.succeeded).await;
    assert_eq!((after.id, after.version), (before.id, before.version));
    assert!(after.fired > before.fired && after.created_at == before.created_at);
}

#[tokio::test]
async fn slots_of_a_downtime_are_caught_up_as_each_job_says() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let endpoint = Endpoint::open().await;
    let (mut daemon, address) = Serving::over(&data, &[]).await;
    // Numbers choose policies; of these three, runs may overlap and the grace is short.
    for (name, number) in [("skip", 6), ("once", 10), ("capped", 8)] {
        create(address, spec(name, number, Rhythm::Every(1), 1, &endpoint.url("ok"))).await;
    }
    let clock = SystemClock::new();
    daemon.kill();
    let (down, cap) = (clock.now(), 5);
    tokio::time::sleep(Duration::from_secs(cap + 3)).await;
    let up = clock.now();
    let (_daemon, address) = Serving::over(&data, &[]).await;
    // What is due at a restart is dealt with before the next slot.
    for name in ["skip", "once", "capped"] {
        job_when(address, name, |job| job.next_execution_time.unwrap().seconds > up.as_secs())
            .await;
    }
    let missed = async |name: &str| {
        let slots = (down.as_secs() + 1)..up.as_secs();
        let mut rows = executions(address, name).await;
        rows.retain(|row| slots.contains(&row.scheduled_for.unwrap().seconds));
        rows.reverse();
        rows
    };
    let (skip, once, capped) = (missed("skip").await, missed("once").await, missed("capped").await);
    assert!(skip.len() > usize::try_from(cap).unwrap(), "{skip:#?}");
    assert!(skip.iter().all(|row| row.status == "SKIPPED" && row.reason == "missed"), "{skip:#?}");
    assert!(once.iter().filter(|row| row.trigger == "catch_up").count() <= 1, "{once:#?}");
    assert!(once.iter().all(|row| row.status != "SKIPPED"), "{once:#?}");
    let caught_up = capped.iter().take_while(|row| row.trigger == "catch_up").count();
    // The slot at the very edge of the downtime may have used up one.
    assert!((4..=5).contains(&caught_up), "{capped:#?}");
    let rest = &capped[caught_up..];
    assert!(!rest.is_empty() && rest.iter().all(|row| row.reason == "missed"), "{capped:#?}");
}

const WALKS_IN: &str = "CHRONOS_TEST_WALKS_IN";

/// Also shows that a run whose process was killed comes again at once: nobody waits for its lease.
#[tokio::test]
async fn a_checkpoint_and_its_run_outlive_a_killed_process() {
    if let Some(data) = std::env::var_os(WALKS_IN) {
        return walk(Path::new(&data)).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let test = "crash::restart::a_checkpoint_and_its_run_outlive_a_killed_process";
    let clock = SystemClock::new();
    let begun = clock.monotonic();
    for attempt in 1..=3 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", test]);
        command.env(WALKS_IN, directory.path().join("data"));
        let mut walker = Serving::spawn(&mut command);
        let line = walker.line("attempt").await;
        assert_eq!(line, format!("attempt {attempt} finds {}", attempt - 1));
        walker.line("saved").await;
        walker.kill();
    }
    let took = clock.monotonic().saturating_sub(begun);
    assert!(took < Duration::from_secs(30), "a lease was waited out: {took:?}");
}

/// Serves with a job that counts its steps, and stops at each until the process is killed.
async fn walk(data: &Path) {
    let mut config = ServeConfig::new(data);
    config.listen = "127.0.0.1:0".parse().unwrap();
    config.store = StoreUrl::Directory(Engine::Fjall, data.into());
    let long_ago = "2026-01-01T00:00:00Z".parse().unwrap();
    let step = |context: JobContext| async move {
        let kept = context.load_checkpoint().await.unwrap().unwrap_or_else(|| vec![0]);
        eprintln!("attempt {} finds {}", context.attempt(), kept[0]);
        context.save_checkpoint(vec![kept[0] + 1]).await.unwrap();
        eprintln!("saved");
        std::future::pending::<()>().await;
    };
    let register = async |service: &SchedulerService| {
        service.register(NewJob::named("walk").at(long_ago), step).await.map(drop)
    };
    let _daemon = Daemon::start(config, register).await.unwrap();
    std::future::pending::<()>().await;
}
