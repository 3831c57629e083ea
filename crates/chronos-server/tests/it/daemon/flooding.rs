//! Floods on the port: bodies that trickle, connections that stay, streams that are reset, messages packed.

use std::net::SocketAddr;
use std::time::Duration;

use chronos_server::daemon::Daemon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::house::{House, config, get};
use super::{hourly, soon};
use crate::rest::{JSON, send};

/// Everything that comes until the connection ends, which it must.
async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // Reset is an end, too.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_body_that_trickles_in_is_cut_off_with_its_connection() {
    let mut impatient = config();
    impatient.limits.request_timeout = Duration::from_millis(200);
    let daemon = Daemon::start(impatient, async |_| Ok(())).await.unwrap();
    let address = daemon.address();
    for path in ["/jobs", "/jobs/recurring", "/auth/login", "/auth/signup", "/schedules/preview"] {
        let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\n{JSON}Content-Length: 100000\r\n\r\n{{"
        );
        writer.write_all(head.as_bytes()).await.unwrap();
        // A byte now and then, for as long as anyone takes them.
        let trickle = tokio::spawn(async move {
            while writer.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let mut answer = Vec::new();
        let _ = soon(reader.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 504 "), "{path}: {answer}");
        drop(reader);
        soon(trickle).await.unwrap();
    }
    assert_eq!(get(address, "/healthz").await.0, 200);
    soon(daemon.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_stays_after_its_first_request_is_closed() {
    let mut impatient = config();
    impatient.limits.idle_timeout = Duration::from_millis(200);
    let daemon = Daemon::start(impatient, async |_| Ok(())).await.unwrap();
    let address = daemon.address();
    // Nothing more, and half of a second request.
    for more in ["", "GET /healthz HTTP/1.1\r\nHo"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let asked = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n{more}");
        stream.write_all(asked.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{more}: {answer}");
    }
    soon(daemon.shutdown()).await.unwrap();
}

/// The kinds of HTTP/2 frames that matter here.
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A request for `/healthz` on a stream, whole, and that it is no longer wanted.
fn asked_and_reset(address: SocketAddr, stream: u32) -> Vec<u8> {
    let host = address.to_string();
    // GET and http by their numbers, then :path and :authority in full.
    let mut head = vec![0x82, 0x86, 0x04, 8];
    head.extend(b"/healthz");
    head.extend([0x01, u8::try_from(host.len()).unwrap()]);
    head.extend(host.as_bytes());
    let cancel = 8_u32.to_be_bytes();
    [frame(HEADERS, 0b101, stream, &head), frame(RESET, 0, stream, &cancel)].concat()
}

#[tokio::test]
async fn streams_that_are_reset_as_soon_as_they_are_opened_end_their_connection() {
    const MOST: u32 = 20_000;
    let house = House::open().await;
    let address = house.address();
    let mut floods = Vec::new();
    for _ in 0..4 {
        floods.push(tokio::spawn(async move {
            let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
            let mut begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
            begin.extend(frame(SETTINGS, 0, 0, &[]));
            writer.write_all(&begin).await.unwrap();
            let mut sent = 0;
            for hundred in 0..MOST / 100 {
                let streams = (0..100).map(|one| (hundred * 100 + one) * 2 + 1);
                let bytes: Vec<u8> =
                    streams.flat_map(|stream| asked_and_reset(address, stream)).collect();
                if writer.write_all(&bytes).await.is_err() {
                    break;
                }
                sent += 100;
            }
            let mut answer = Vec::new();
            let _ = reader.read_to_end(&mut answer).await;
            sent
        }));
    }
    // Others are served meanwhile.
    for _ in 0..20 {
        assert_eq!(get(address, "/healthz").await.0, 200);
        house.get("/jobs").await.expect(200);
    }
    for flood in floods {
        let sent = soon(flood).await.unwrap();
        assert!(sent < MOST, "{sent} streams were opened and reset on one connection");
    }
    assert_eq!(get(address, "/healthz").await.0, 200);
    house.close().await;
}

#[tokio::test]
async fn a_packed_message_is_unimplemented() {
    let mut house = House::open().await;
    house.create(hourly("precious", "succeed")).await;
    let path = "/chronos.v1.Scheduler/DeleteJob";
    // Flagged as packed: what gzip makes of field 1, "precious", does not matter.
    let packed = b"\x01\0\0\0\x0a\x0a\x08precious";
    for encoding in ["gzip", "deflate", "zstd", "snappy"] {
        let lines = format!(
            "Content-Type: application/grpc\r\nTE: trailers\r\ngrpc-encoding: {encoding}\r\n"
        );
        for body in [&packed[..], b"\0\0\0\0\x0a\x0a\x08precious"] {
            let answer = send(house.address(), "POST", path, &lines, body).await;
            assert_eq!(answer.header("grpc-status"), Some("12"), "{encoding}: {answer:?}");
        }
    }
    let lines = "Content-Type: application/grpc\r\nTE: trailers\r\n";
    let answer = send(house.address(), "POST", path, lines, packed).await;
    assert!(!matches!(answer.header("grpc-status"), None | Some("0")), "{answer:?}");
    house.job("precious").await;
    house.close().await;
}
