//! Endpoints that speak HTTP/2, frame by frame, and flood whoever calls them.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chronos_engine::Http;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use super::hostile::{FEW, resident};
use super::server::{Answer, Server};
use super::tls::{acceptor, certificates_within};
use super::{LONG, Lab, passing};

// The kinds of frames, as RFC 9113 numbers them.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// Says that no more headers follow.
const END_HEADERS: u8 = 4;
/// The status 200, the status 103 and one more header, as RFC 7541 packs them.
const OK: [u8; 1] = [0x88];
const EARLY_HINTS: [u8; 5] = [0x08, 3, b'1', b'0', b'3'];
const ONE_MORE: [u8; 5] = [0, 1, b'x', 1, b'y'];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// What an endpoint writes once it is asked for something: this, and then this again and again.
struct Flood {
    first: Vec<u8>,
    again: Vec<u8>,
    /// Whether the request fails at once; else its time ends it.
    at_once: bool,
}

fn floods() -> Vec<(&'static str, Flood)> {
    let at_once = |first, again| Flood { first, again, at_once: true };
    let in_time = |first, again| Flood { first, again, at_once: false };
    let reset = |reason: u32| frame(RST_STREAM, 0, 1, &reason.to_be_bytes());
    let goodbye = |reason: u32| frame(GOAWAY, 0, 0, &[[0; 4], reason.to_be_bytes()].concat());
    let one_more = ONE_MORE.repeat(100);
    vec![
        // A request that was refused unread may be sent again, but only by the scheduler.
        ("resets of what was refused", at_once(reset(7), reset(7))),
        ("resets of what went wrong", at_once(reset(2), reset(2))),
        ("goodbyes", at_once(goodbye(0), goodbye(0))),
        ("goodbyes in anger", at_once(goodbye(11), goodbye(11))),
        (
            "headers without end",
            at_once(frame(HEADERS, 0, 1, &OK), frame(CONTINUATION, 0, 1, &one_more)),
        ),
        ("pieces of nothing", at_once(frame(HEADERS, END_HEADERS, 1, &OK), frame(DATA, 0, 1, &[]))),
        ("pings", in_time(vec![], frame(PING, 0, 0, &[0; 8]))),
        ("settings", in_time(vec![], frame(SETTINGS, 0, 0, &[]))),
        ("windows", in_time(vec![], frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()))),
        ("early hints", in_time(vec![], frame(HEADERS, END_HEADERS, 1, &EARLY_HINTS))),
    ]
}

/// What has happened so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    connections: usize,
    requests: usize,
    written: usize,
    closed: usize,
}

struct Endpoint {
    address: SocketAddr,
    seen: watch::Receiver<Seen>,
}

impl Endpoint {
    async fn flooding(certificates: &Path, flood: &Flood) -> Self {
        let acceptor = acceptor(certificates, "good", &["h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, seen) = watch::channel(Seen::default());
        let (tell, first, again) = (Arc::new(tell), flood.first.clone(), flood.again.repeat(64));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stream = acceptor.accept(stream).await.unwrap();
                tell.send_modify(|seen| seen.connections += 1);
                let (tell, first, again) = (tell.clone(), first.clone(), again.clone());
                tokio::spawn(async move {
                    let _ = serve(stream, &first, &again, &tell).await;
                    tell.send_modify(|seen| seen.closed += 1);
                });
            }
        });
        Self { address, seen }
    }

    fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    async fn until(&self, is_so: impl FnMut(&Seen) -> bool) {
        let mut seen = self.seen.clone();
        let waited = tokio::time::timeout(LONG, seen.wait_for(is_so)).await;
        assert!(matches!(waited, Ok(Ok(_))), "{:?}", self.seen());
    }
}

/// Counts requests and pours out frames once there is one, until the client is gone.
async fn serve(
    stream: TlsStream<TcpStream>,
    first: &[u8],
    again: &[u8],
    tell: &watch::Sender<Seen>,
) -> io::Result<()> {
    let mut asked = tell.subscribe();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let reading = async {
        reader.read_exact(&mut [0; b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await?;
        loop {
            let mut head = [0; 9];
            reader.read_exact(&mut head).await?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            reader.read_exact(&mut vec![0; length as usize]).await?;
            if head[3] == HEADERS {
                tell.send_modify(|seen| seen.requests += 1);
            }
        }
    };
    let writing = async {
        writer.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
        writer.flush().await?;
        let _ = asked.wait_for(|seen| seen.requests > 0).await;
        writer.write_all(first).await?;
        loop {
            writer.write_all(again).await?;
            writer.flush().await?;
            tell.send_modify(|seen| seen.written += again.len());
        }
    };
    tokio::select! {
        ended = reading => ended,
        ended = writing => ended,
    }
}

#[tokio::test]
async fn a_flood_of_frames_ends_one_request_and_costs_nobody_else_anything() {
    let test = "http::floods::\
                a_flood_of_frames_ends_one_request_and_costs_nobody_else_anything";
    let Some(certificates) = certificates_within(test) else {
        return;
    };
    let quiet = Server::answering(Answer::ok("")).await;
    for (what, flood) in floods() {
        let endpoint = Endpoint::flooding(&certificates, &flood).await;
        let url = format!("https://localhost:{}/hook?token=hunter2", endpoint.address.port());
        let request = Http::new(&url).unwrap().with_timeout(Duration::from_millis(700)).unwrap();
        let lab = Lab::calling(request).await;
        let before = resident();
        let run = tokio::time::timeout(LONG, lab.run_once()).await.unwrap();
        let why = passing(&run);
        assert!(why.starts_with("no full answer from localhost:"), "{what}: {why}");
        assert_eq!(why.ends_with("within 700ms"), !flood.at_once, "{what}: {why}");
        assert_eq!(endpoint.seen().requests, 1, "{what}: nothing is sent twice");
        assert!(!flood.at_once || endpoint.seen().written < FEW, "{what}: {:?}", endpoint.seen());
        // The connection may be kept for a while, with all that comes by it.
        let other = Lab::calling(Http::new(&quiet.url("/")).unwrap()).await.run_once().await;
        assert_eq!(other.status(), "SUCCESS", "beside {what}");
        let grown = resident().saturating_sub(before);
        assert!(grown < 16 * 1_024, "{what}: {grown} KiB more");
        // Nobody goes on listening once nobody can ask again.
        drop(lab);
        endpoint.until(|seen| seen.closed == seen.connections).await;
    }
}
