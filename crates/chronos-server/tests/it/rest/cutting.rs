//! Consumers that are cut off at random instants, a thousand times each, by every way of following.

use std::net::SocketAddr;
use std::time::Duration;

use chronos_server::proto::StreamEventsRequest;
use chronos_server::proto::stream_events_request::From;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::events::{run, says, sequences, stream};
use super::{send, text};
use crate::daemon::house::{House, client};
use crate::daemon::soon;

/// Cuts of each consumer.
const CUTS: usize = 1_000;
/// Events that are said meanwhile.
const EVENTS: u64 = 1_500;

/// A house whose job says so many things, one after the other, while somebody listens.
async fn speaking() -> (House, JoinHandle<()>) {
    let house = House::open().await;
    let id = text(&house.make(&says("report")).await["id"]).to_owned();
    let address = house.address();
    let speaker = tokio::spawn(async move {
        for _ in 0..EVENTS {
            run(address, &id).await;
        }
    });
    (house, speaker)
}

/// What a consumer got so far, of which it knows nothing but where to go on.
struct Consumer {
    cursor: u64,
    read: Vec<u64>,
    chance: u64,
}

impl Consumer {
    fn new(chance: u64) -> Self {
        Self { cursor: 0, read: Vec::new(), chance }
    }

    fn below(&mut self, most: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.chance >> 40) % most
    }

    fn take(&mut self, events: &[u64], said: Option<u64>) {
        self.read.extend(events);
        self.cursor = events.last().copied().or(said).unwrap_or(self.cursor).max(self.cursor);
    }

    /// Everything was heard, once and in order.
    fn assert_whole(&self) {
        assert_eq!(self.read, (1..=EVENTS).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_cut_off_a_thousand_times_tells_the_whole_log() {
    let (house, speaker) = speaking().await;
    let (address, mut consumer) = (house.address(), Consumer::new(3));
    let cut = async |consumer: &mut Consumer, bytes: usize| {
        let lines = format!("Last-Event-ID: {}\r\n", consumer.cursor);
        let (events, said) = stream(address, "/events/stream", &lines, bytes).await;
        consumer.take(&sequences(&events), said);
    };
    for _ in 0..CUTS {
        let bytes = usize::try_from(100 + consumer.below(2_000)).unwrap();
        cut(&mut consumer, bytes).await;
    }
    speaker.await.unwrap();
    while consumer.cursor < EVENTS {
        cut(&mut consumer, 9_999_999).await;
    }
    consumer.assert_whole();
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cut_off_a_thousand_times_tells_the_whole_log() {
    let (house, speaker) = speaking().await;
    let (address, mut consumer) = (house.address(), Consumer::new(5));
    let mut cuts = 0;
    while cuts < CUTS || consumer.cursor < EVENTS {
        // A connection of its own now and then, which is dropped in the middle of everything.
        let mut called = client(address).await;
        for _ in 0..10 {
            cuts += 1;
            let from = Some(From::After(consumer.cursor));
            let request = StreamEventsRequest { from, job: String::new() };
            let mut events = soon(called.stream_events(request)).await.unwrap().into_inner();
            let patience = Duration::from_micros(consumer.below(9_000));
            let cut = tokio::time::sleep(patience);
            tokio::pin!(cut);
            loop {
                tokio::select! {
                    event = events.message() => {
                        consumer.take(&[event.unwrap().unwrap().sequence], None);
                    }
                    () = &mut cut => break,
                }
            }
        }
    }
    speaker.await.unwrap();
    consumer.assert_whole();
    house.close().await;
}

/// The beginning of an answer, up to so many bytes.
async fn pull(address: SocketAddr, path: &str, bytes: u64) -> Option<Value> {
    let mut connection = soon(TcpStream::connect(address)).await.unwrap();
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    soon(connection.write_all(head.as_bytes())).await.unwrap();
    let mut answer = Vec::new();
    soon(connection.take(bytes).read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    // What was cut off is no document.
    answer.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_that_is_cut_off_a_thousand_times_tells_the_whole_log() {
    let (house, speaker) = speaking().await;
    let (address, mut consumer) = (house.address(), Consumer::new(7));
    let mut whole = 0;
    for _ in 0..CUTS {
        let limit = 1 + consumer.below(4);
        let path = format!("/events?after={}&limit={limit}&wait=1", consumer.cursor);
        let bytes = consumer.below(3_500);
        if let Some(page) = pull(address, &path, bytes).await {
            whole += 1;
            let said = text(&page["next_cursor"]).parse().unwrap();
            consumer.take(&sequences(page["items"].as_array().unwrap()), Some(said));
        }
    }
    assert!((50..CUTS - 50).contains(&whole), "{whole} of {CUTS} came through");
    speaker.await.unwrap();
    while consumer.cursor < EVENTS {
        let path = format!("/events?after={}&limit=1000", consumer.cursor);
        let page = send(address, "GET", &path, "", b"").await.expect(200);
        consumer.take(&sequences(page["items"].as_array().unwrap()), None);
    }
    consumer.assert_whole();
    house.close().await;
}
