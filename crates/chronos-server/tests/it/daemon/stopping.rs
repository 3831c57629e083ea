//! Stopping in order, as seen by those who are connected.

use std::time::Duration;

use chronos_server::proto::watch_executions_request::Of;
use chronos_server::proto::{GetJobRequest, WatchExecutionsRequest};
use tonic::Code;

use super::house::{House, config, get};
use super::{hourly, soon};

#[tokio::test]
async fn a_run_is_awaited_while_requests_are_refused_and_streams_told_its_end() {
    let mut house = House::open().await;
    house.create(hourly("long", "stubborn")).await;
    let run = house.run("long").await;
    house.until(&run.id, "RUNNING").await;
    let of = WatchExecutionsRequest { of: Some(Of::Job("long".into())) };
    let mut stream = soon(house.client.watch_executions(of)).await.unwrap().into_inner();
    assert_eq!(soon(stream.message()).await.unwrap().unwrap().status, "RUNNING");
    let House { daemon, mut client, leave } = house;
    let (address, scheduler) = (daemon.address(), daemon.scheduler().clone());
    let stopping = tokio::spawn(daemon.shutdown());
    soon(scheduler.shutdown_token().cancelled()).await;
    let (code, body) = get(address, "/readyz").await;
    assert_eq!(code, 503, "{body}");
    assert!(body.contains("\"stopping\""), "{body}");
    assert_eq!(get(address, "/healthz").await.0, 200);
    let refused = soon(client.get_job(GetJobRequest { job: "long".into() })).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(!stopping.is_finished());
    leave.add_permits(1);
    // The end of what ran is told, and then why the stream ends.
    assert_eq!(soon(stream.message()).await.unwrap().unwrap().status, "SUCCESS");
    let ended = soon(stream.message()).await.unwrap_err();
    assert_eq!((ended.code(), ended.message()), (Code::Unavailable, "the server is shutting down"));
    soon(stopping).await.unwrap().unwrap();
    assert!(!scheduler.is_running());
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_run_that_does_not_end_is_cut_short_after_the_timeout() {
    let mut hasty = config();
    hasty.scheduler.shutdown_timeout_secs = 0;
    let mut house = House::with(hasty).await;
    house.create(hourly("long", "stubborn")).await;
    let run = house.run("long").await;
    house.until(&run.id, "RUNNING").await;
    let store = house.daemon.scheduler().store().clone();
    house.close().await;
    let execution = store.execution(run.id.parse().unwrap()).await.unwrap();
    assert_eq!(execution.status(), "CANCELLED");
}

#[tokio::test]
async fn connections_that_do_not_end_are_cut_off() {
    let mut hasty = config();
    hasty.limits.close_timeout = Duration::from_millis(100);
    let house = House::with(hasty).await;
    let mut stream = tokio::net::TcpStream::connect(house.address()).await.unwrap();
    let begun = format!(
        "POST /chronos.v1.Scheduler/GetJob HTTP/1.1\r\nHost: {}\r\n\
         Content-Type: application/grpc\r\nContent-Length: 100\r\n\r\n\0",
        house.address()
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, begun.as_bytes()).await.unwrap();
    get(house.address(), "/healthz").await;
    house.close().await;
}
