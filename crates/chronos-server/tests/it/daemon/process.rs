//! The real process: how it starts, what it says, and how signals end it.

use std::net::SocketAddr;

use chronos_server::proto::target::Kind;
use chronos_server::proto::{
    CreateJobRequest, GetSchedulerStatusRequest, Http, JobSpec, RunJobRequest, Target,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::house::client;
use super::{hourly, soon};
use crate::refusal;
use crate::serving::Serving;

/// A serving process over a directory that nobody has used before.
async fn serve(extra: &[&str]) -> (Serving, SocketAddr, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let (process, address) = Serving::over(&data.path().join("data"), extra).await;
    (process, address, data)
}

/// Begins a request whose end never comes; the process waits a while for it when it stops.
async fn unending_request(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let begun = format!(
        "POST /chronos.v1.Scheduler/GetJob HTTP/1.1\r\nHost: {address}\r\n\
         Content-Type: application/grpc\r\nContent-Length: 100\r\n\r\n\0"
    );
    stream.write_all(begun.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_signal_stops_an_idle_process_in_order_and_at_once() {
    for signal in ["TERM", "INT"] {
        let (mut process, address, _data) = serve(&[]).await;
        let mut client = client(address).await;
        let request = GetSchedulerStatusRequest::default();
        let status = soon(client.get_scheduler_status(request)).await.unwrap().into_inner();
        assert!(status.scheduler_running);
        process.signal(signal);
        for step in [
            "Asked to stop",
            "No more requests accepted",
            "Initiating scheduler shutdown",
            "Scheduler shutdown complete",
            "Store flushed",
            "Connections closed",
            "Shutdown complete",
        ] {
            process.line(step).await;
        }
        assert_eq!(process.code().await, Some(0), "{signal}");
    }
}

#[tokio::test]
async fn a_second_signal_ends_the_process_at_once() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let (mut process, address, _data) = serve(&[]).await;
        let _stream = unending_request(address).await;
        // Answered after the request above, so that is on its way.
        let mut other = client(address).await;
        soon(other.get_scheduler_status(GetSchedulerStatusRequest::default())).await.unwrap();
        process.signal("TERM");
        process.line("No more requests accepted").await;
        process.signal(signal);
        process.line("exiting at once").await;
        assert_eq!(process.code().await, Some(code), "{signal}");
    }
}

#[tokio::test]
async fn a_call_under_way_is_dropped_when_the_process_stops() {
    let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/slow", target.local_addr().unwrap());
    let (mut process, address, _data) = serve(&["--shutdown-timeout-secs", "20"]).await;
    let mut client = client(address).await;
    let http = Http { url, ..Http::default() };
    let target_spec = Some(Target { kind: Some(Kind::Http(http)) });
    let spec = Some(JobSpec { target: target_spec, ..hourly("slow", "") });
    soon(client.create_job(CreateJobRequest { spec })).await.unwrap();
    soon(client.run_job(RunJobRequest { job: "slow".into() })).await.unwrap();
    let (mut called, _) = soon(target.accept()).await.unwrap();
    let mut head = [0; 64];
    assert!(soon(called.read(&mut head)).await.unwrap() > 0);
    assert!(head.starts_with(b"POST /slow HTTP/1.1"));
    process.signal("TERM");
    soon(called.read_to_end(&mut Vec::new())).await.unwrap();
    assert_eq!(process.code().await, Some(0));
}

#[test]
fn addresses_that_cannot_be_meant_are_refused() {
    let text = refusal(&["serve", "--listen", "0.0.0.0:8080", "--store", "memory"]);
    assert!(text.contains("listen: 0.0.0.0:8080 is not accepted; use a loopback"), "{text}");
    let text = refusal(&["serve", "--listen", "8080"]);
    assert!(text.contains("listen: \"8080\" is not accepted; use an address"), "{text}");
}
