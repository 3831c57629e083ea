//! Limits and guards: what the port refuses before anyone looks at the request.

use std::time::Duration;

use chronos_server::daemon::{Daemon, Error};
use chronos_server::proto::scheduler_client::SchedulerClient;
use chronos_server::proto::{CreateJobRequest, GetJobRequest, Http, JobSpec, Target, target::Kind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::Endpoint;

use super::house::{House, client, config, raw, split};
use super::{hourly, soon};

fn request(host: &str, extra: &str) -> String {
    format!("GET /healthz HTTP/1.1\r\n{host}Connection: close\r\n{extra}\r\n")
}

#[tokio::test]
async fn requests_for_other_hosts_are_misdirected() {
    let house = House::open().await;
    let port = house.address().port();
    for (host, code) in [
        (format!("Host: 127.0.0.1:{port}\r\n"), 200),
        (format!("Host: localhost:{port}\r\n"), 200),
        ("Host: [::1]\r\n".into(), 200),
        (format!("Host: chronos.example.org:{port}\r\n"), 421),
        ("Host: 127.0.0.1.example.org\r\n".into(), 421),
        ("Host: 169.254.169.254\r\n".into(), 421),
        (String::new(), 421),
    ] {
        let (seen, body) = split(&raw(house.address(), &request(&host, "")).await);
        assert_eq!(seen, code, "{host}: {body}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_client_that_means_another_host_is_misdirected_over_grpc_too() {
    let house = House::open().await;
    let endpoint = Endpoint::from_shared(format!("http://{}", house.address())).unwrap();
    let endpoint = endpoint.origin("http://rebound.example.org".parse().unwrap());
    let mut client = SchedulerClient::new(soon(endpoint.connect()).await.unwrap());
    let refused = soon(client.get_job(GetJobRequest { job: "succeed".into() })).await;
    let refused = refused.unwrap_err();
    assert!(refused.message().contains("not a name or an address of this machine"), "{refused}");
    drop(client);
    house.close().await;
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let house = House::open().await;
    let host = format!("Host: {}\r\n", house.address());
    for (origin, code) in [
        ("Origin: http://localhost:5173\r\n", 200),
        ("Origin: https://example.org\r\n", 403),
        ("Origin: null\r\n", 403),
    ] {
        let (seen, body) = split(&raw(house.address(), &request(&host, origin)).await);
        assert_eq!(seen, code, "{origin}: {body}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_method_is_not_called_by_content_that_a_page_may_send_unasked() {
    let mut house = House::open().await;
    house.create(hourly("precious", "succeed")).await;
    // Field 1, "precious", in a gRPC frame: what DeleteJob would take.
    let body = "\0\0\0\0\x0a\x0a\x08precious";
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json"] {
        let request = format!(
            "POST /chronos.v1.Scheduler/DeleteJob HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            house.address(),
            body.len()
        );
        let (code, body) = split(&raw(house.address(), &request).await);
        assert_eq!(code, 415, "{kind}: {body}");
    }
    house.job("precious").await;
    house.close().await;
}

#[tokio::test]
async fn an_oversized_message_is_refused_and_the_connection_lives_on() {
    let mut house = House::open().await;
    let url = "https://example.com/".into();
    let http = Http { url, body: vec![b'x'; 4 * 1024 * 1024 + 1], ..Http::default() };
    let target = Some(Target { kind: Some(Kind::Http(http)) });
    let spec = Some(JobSpec { target, ..hourly("huge", "") });
    let refused = soon(house.client.create_job(CreateJobRequest { spec })).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    house.job("succeed").await;
    house.close().await;
}

#[tokio::test]
async fn oversized_headers_and_bodies_are_refused_before_they_are_read() {
    let house = House::open().await;
    let host = format!("Host: {}\r\n", house.address());
    let large = "Content-Type: application/grpc\r\nX-Large: ".to_string() + &"x".repeat(20_000);
    let (code, _) = split(&raw(house.address(), &request(&host, &(large + "\r\n"))).await);
    assert_eq!(code, 431);
    let body = format!("Content-Length: {}\r\n", 4 * 1024 * 1024 + 1);
    let request = request(&host, &body).replace("/healthz", "/nowhere");
    let (code, body) = split(&raw(house.address(), &request).await);
    assert_eq!(code, 413, "{body}");
    house.close().await;
}

#[tokio::test]
async fn unknown_methods_are_unimplemented_and_unknown_paths_not_found() {
    let house = House::open().await;
    let (code, body) = super::house::get(house.address(), "/nowhere").await;
    assert_eq!(code, 404);
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["detail"], "there is nothing at /nowhere");
    assert_eq!(problem["status"], 404);
    let request = format!(
        "POST /chronos.v9.Scheduler/Fly HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
         Content-Type: application/grpc\r\nContent-Length: 0\r\n\r\n",
        house.address()
    );
    let answer = raw(house.address(), &request).await;
    assert!(answer.to_lowercase().contains("grpc-status: 12"), "{answer}");
    house.close().await;
}

#[tokio::test]
async fn more_connections_than_there_are_places_for_are_closed() {
    let mut small = config();
    small.limits.connections = 3;
    // The house's own client has the first place.
    let house = House::with(small).await;
    let _second = TcpStream::connect(house.address()).await.unwrap();
    let third = TcpStream::connect(house.address()).await.unwrap();
    let mut fourth = TcpStream::connect(house.address()).await.unwrap();
    let read = soon(fourth.read(&mut [0; 1])).await;
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    drop(third);
    // A place that is given back is free for the next.
    let request = request(&format!("Host: {}\r\n", house.address()), "");
    soon(async { while split(&raw(house.address(), &request).await).0 != 200 {} }).await;
    house.close().await;
}

#[tokio::test]
async fn a_connection_that_asks_for_nothing_is_closed() {
    let mut impatient = config();
    impatient.limits.idle_timeout = Duration::from_millis(100);
    let daemon = Daemon::start(impatient, async |_| Ok(())).await.unwrap();
    // Half of what begins an HTTP/2 connection, half of a request, and nothing at all.
    for begun in ["PRI * HTTP/2.0\r\n", "GET /healthz HTTP/1.1\r\nHo", ""] {
        let mut stream = TcpStream::connect(daemon.address()).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        // Closed or reset: what counts is that it does not last.
        let _ = soon(stream.read_to_end(&mut Vec::new())).await;
    }
    soon(daemon.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_request_that_never_ends_is_answered_in_time() {
    let mut impatient = config();
    impatient.limits.request_timeout = Duration::from_millis(100);
    let daemon = Daemon::start(impatient, async |_| Ok(())).await.unwrap();
    let request = format!(
        "POST /chronos.v1.Scheduler/GetJob HTTP/1.1\r\nHost: {}\r\n\
         Content-Type: application/grpc\r\nContent-Length: 100\r\n\r\n\0\0",
        daemon.address()
    );
    let mut stream = TcpStream::connect(daemon.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 1_024];
    let length = soon(stream.read(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).to_lowercase();
    assert!(answer.contains("grpc-status: 4"), "{answer}");
    drop(stream);
    soon(daemon.shutdown()).await.unwrap();
}

#[tokio::test]
async fn streams_outlast_the_time_that_a_request_has() {
    let mut impatient = config();
    impatient.limits.request_timeout = Duration::from_millis(200);
    let mut house = House::with(impatient).await;
    let of = chronos_server::proto::watch_executions_request::Of::Job("succeed".into());
    let request = chronos_server::proto::WatchExecutionsRequest { of: Some(of) };
    let mut stream = soon(house.client.watch_executions(request)).await.unwrap().into_inner();
    let quiet = tokio::time::timeout(Duration::from_millis(600), stream.message()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    house.run("succeed").await;
    assert!(soon(stream.message()).await.unwrap().is_some());
    house.close().await;
}

#[tokio::test]
async fn further_requests_of_one_connection_wait_their_turn() {
    let mut narrow = config();
    narrow.limits.requests_per_connection = 2;
    let house = House::with(narrow).await;
    let of = || chronos_server::proto::watch_executions_request::Of::Job("succeed".into());
    let request = || chronos_server::proto::WatchExecutionsRequest { of: Some(of()) };
    let mut one = client(house.address()).await;
    // The limit is known once the first request is answered.
    let first = soon(one.watch_executions(request())).await.unwrap();
    let _second = soon(one.watch_executions(request())).await.unwrap();
    let mut third = one.clone();
    let waiting =
        tokio::spawn(async move { third.get_job(GetJobRequest { job: "fail".into() }).await });
    let mut other = client(house.address()).await;
    soon(other.get_job(GetJobRequest { job: "fail".into() })).await.unwrap();
    assert!(!waiting.is_finished());
    drop(first);
    soon(waiting).await.unwrap().unwrap();
    house.close().await;
}

#[tokio::test]
async fn only_addresses_of_this_machine_are_listened_on() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.7:80"] {
        let mut open = config();
        open.listen = address.parse().unwrap();
        let refused = Daemon::start(open, async |_| Ok(())).await.unwrap_err();
        assert!(matches!(refused, Error::NotLoopback(_)));
        let text = refused.to_string();
        assert!(text.starts_with(&format!("listen: {address} is not accepted")), "{text}");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let house = House::open().await;
    let mut same = config();
    same.listen = house.address();
    let refused = Daemon::start(same, async |_| Ok(())).await.unwrap_err().to_string();
    assert!(refused.contains(&house.address().to_string()), "{refused}");
    house.close().await;
}
