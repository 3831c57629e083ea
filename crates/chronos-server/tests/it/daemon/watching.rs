//! Watching executions over their whole life.

use chronos_server::proto::watch_executions_request::Of;
use chronos_server::proto::{
    CancelExecutionRequest, DeleteJobRequest, Execution, JobSpec, WatchExecutionsRequest,
    overlap_policy,
};
use prost_types::Duration;
use tonic::{Code, Status, Streaming};

use super::house::{House, client, config};
use super::{hourly, soon};

fn of_job(job: &str) -> WatchExecutionsRequest {
    WatchExecutionsRequest { of: Some(Of::Job(job.into())) }
}

fn of_execution(id: &str) -> WatchExecutionsRequest {
    WatchExecutionsRequest { of: Some(Of::Execution(id.into())) }
}

async fn watch(house: &mut House, request: WatchExecutionsRequest) -> Streaming<Execution> {
    soon(house.client.watch_executions(request)).await.unwrap().into_inner()
}

async fn next(stream: &mut Streaming<Execution>) -> Option<Execution> {
    soon(stream.message()).await.unwrap()
}

/// Everything up to the end of the stream.
async fn rest(stream: &mut Streaming<Execution>) -> Result<Vec<Execution>, Status> {
    let mut seen = Vec::new();
    while let Some(execution) = soon(stream.message()).await? {
        seen.push(execution);
    }
    Ok(seen)
}

fn statuses(seen: &[Execution]) -> Vec<&str> {
    seen.iter().map(|execution| execution.status.as_str()).collect()
}

#[tokio::test]
async fn a_run_is_watched_from_its_queue_to_its_end() {
    let mut house = House::open().await;
    house.create(hourly("long", "wait")).await;
    let mut by_job = watch(&mut house, of_job("long")).await;
    let run = house.run("long").await;
    let mut by_id = watch(&mut house, of_execution(&run.id)).await;
    house.until(&run.id, "RUNNING").await;
    for stream in [&mut by_job, &mut by_id] {
        let mut seen = next(stream).await.unwrap();
        if seen.status == "QUEUED" {
            seen = next(stream).await.unwrap();
        }
        assert_eq!((seen.status.as_str(), &seen.id), ("RUNNING", &run.id));
    }
    let request = CancelExecutionRequest { id: run.id.clone() };
    soon(house.client.cancel_execution(request)).await.unwrap();
    let last = rest(&mut by_id).await.unwrap().pop().unwrap();
    assert_eq!((last.status.as_str(), last.reason.as_str()), ("CANCELLED", "by a user"));
    loop {
        let seen = next(&mut by_job).await.unwrap();
        if seen.status == "CANCELLED" {
            break;
        }
        assert_eq!(seen.reason, "by a user");
    }
    house.close().await;
}

#[tokio::test]
async fn an_execution_that_is_over_is_told_once_and_ends_the_stream() {
    let mut house = House::open().await;
    house.create(hourly("quick", "succeed")).await;
    let run = house.run("quick").await;
    house.until(&run.id, "SUCCESS").await;
    let mut stream = watch(&mut house, of_execution(&run.id)).await;
    assert_eq!(statuses(&rest(&mut stream).await.unwrap()), ["SUCCESS"]);
    house.close().await;
}

#[tokio::test]
async fn the_stream_of_one_execution_lasts_until_its_retries_are_over() {
    let mut house = House::open().await;
    let soon_again = Some(Duration { seconds: 0, nanos: 1_000_000 });
    let spec = JobSpec {
        max_retry: 2,
        retry_base: soon_again,
        retry_max: soon_again,
        ..hourly("unlucky", "fail")
    };
    house.create(spec).await;
    let run = house.run("unlucky").await;
    let mut stream = watch(&mut house, of_execution(&run.id)).await;
    let seen = rest(&mut stream).await.unwrap();
    let ends: Vec<_> = seen.iter().filter(|seen| seen.status == "FAILED").collect();
    let attempts: Vec<_> = ends.iter().map(|end| (end.attempt, end.retry_number)).collect();
    assert_eq!(attempts, [(1, 0), (2, 1), (3, 2)]);
    assert_eq!(ends.last().map(|end| &end.id), seen.last().map(|last| &last.id));
    house.close().await;
}

#[tokio::test]
async fn every_end_of_a_busy_job_is_told_once() {
    let mut house = House::open().await;
    let concurrent = overlap_policy::Kind::Concurrent(overlap_policy::Concurrent::default());
    let policy = chronos_server::proto::OverlapPolicy { kind: Some(concurrent) };
    house.create(JobSpec { overlap_policy: Some(policy), ..hourly("busy", "succeed") }).await;
    let mut stream = watch(&mut house, of_job("busy")).await;
    let mut other = client(house.address()).await;
    let mut made = Vec::new();
    for _ in 0..90 {
        let request = chronos_server::proto::RunJobRequest { job: "busy".into() };
        made.push(soon(other.run_job(request)).await.unwrap().into_inner().id);
    }
    let mut ended = Vec::new();
    while ended.len() < made.len() {
        let seen = next(&mut stream).await.unwrap();
        if seen.status == "SUCCESS" {
            ended.push(seen.id);
        }
    }
    ended.sort();
    made.sort();
    assert_eq!(ended, made);
    house.close().await;
}

#[tokio::test]
async fn a_watcher_who_comes_late_is_told_what_is_alive() {
    let mut house = House::open().await;
    house.create(hourly("long", "wait")).await;
    house.create(hourly("other", "succeed")).await;
    let old = house.run("other").await;
    house.until(&old.id, "SUCCESS").await;
    let run = house.run("long").await;
    house.until(&run.id, "RUNNING").await;
    let mut stream = watch(&mut house, of_job("long")).await;
    assert_eq!(next(&mut stream).await.unwrap().id, run.id);
    let mut stream = watch(&mut house, of_job("other")).await;
    let new = house.run("other").await;
    // What was over before is no change.
    assert_eq!(next(&mut stream).await.unwrap().id, new.id);
    house.leave.add_permits(1);
    house.close().await;
}

#[tokio::test]
async fn the_stream_of_a_job_ends_when_the_job_is_gone() {
    let mut house = House::open().await;
    house.create(hourly("doomed", "wait")).await;
    let mut stream = watch(&mut house, of_job("doomed")).await;
    let run = house.run("doomed").await;
    house.until(&run.id, "RUNNING").await;
    let request = DeleteJobRequest { job: "doomed".into() };
    soon(house.client.delete_job(request)).await.unwrap();
    let seen = rest(&mut stream).await.unwrap();
    assert!(seen.iter().all(|seen| seen.id == run.id));
    house.close().await;
}

#[tokio::test]
async fn more_watchers_than_there_are_places_for_are_refused() {
    let mut small = config();
    small.limits.watchers = 2;
    let mut house = House::with(small).await;
    house.create(hourly("job", "succeed")).await;
    let first = watch(&mut house, of_job("job")).await;
    let _second = watch(&mut house, of_job("job")).await;
    let mut other = client(house.address()).await;
    let refused = soon(other.watch_executions(of_job("job"))).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("too many streams"), "{refused}");
    // A place that is given back is free for the next.
    drop(first);
    soon(async {
        while other.watch_executions(of_job("job")).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn a_watcher_who_never_reads_holds_nobody_up() {
    let mut house = House::open().await;
    let concurrent = overlap_policy::Kind::Concurrent(overlap_policy::Concurrent::default());
    let policy = chronos_server::proto::OverlapPolicy { kind: Some(concurrent) };
    house.create(JobSpec { overlap_policy: Some(policy), ..hourly("busy", "succeed") }).await;
    let mut idle = client(house.address()).await;
    let _unread = soon(idle.watch_executions(of_job("busy"))).await.unwrap();
    for _ in 0..300 {
        house.run("busy").await;
    }
    soon(async { while house.job("busy").await.succeeded < 300 {} }).await;
    house.close().await;
}

#[tokio::test]
async fn unknown_subjects_are_refused_at_once() {
    let mut house = House::open().await;
    for (request, code) in [
        (of_job("ghost"), Code::NotFound),
        (of_job(""), Code::InvalidArgument),
        (of_execution("01890a5d-ac96-774b-bcce-b302099a8057"), Code::NotFound),
        (of_execution("seven"), Code::InvalidArgument),
    ] {
        let refused = soon(house.client.watch_executions(request)).await.unwrap_err();
        assert_eq!(refused.code(), code);
    }
    house.close().await;
}
