//! Streams of message events: a thousand subscribers of one daemon, each of whom hears everything at once.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use chronos_core::Timestamp;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::daemon::Daemon;
use crate::disk;
use crate::fleet::wall_micros;
use crate::report::{Figure, Goal, percentile};

const SUBSCRIBERS: usize = 1_000;
/// Jobs that say something in every second, each a hundredth of it after the one before.
const JOBS: u64 = 100;
/// How long the streams are heard before it counts, and how long it does.
const BEFORE: Duration = Duration::from_secs(4);
const MEASURED: Duration = Duration::from_secs(20);

/// When one subscriber had each event: its sequence, and microseconds of the wall clock.
type Heard = Vec<(u64, u64)>;

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let directory = disk::directory()?;
    let daemon = Daemon::start(directory.path().join("data")).await?;
    let mut subscribers = JoinSet::new();
    let begin = wall_micros() + u64::try_from(BEFORE.as_micros())?;
    let end = begin + u64::try_from(MEASURED.as_micros())?;
    for _ in 0..SUBSCRIBERS {
        let stream = subscribe(&daemon.url).await?;
        subscribers.spawn(hear(stream, end));
    }
    make_jobs(&daemon).await?;
    let mut heard: Vec<Heard> = Vec::with_capacity(SUBSCRIBERS);
    while let Some(one) = subscribers.join_next().await {
        heard.push(one??);
    }
    let slots = slots(&daemon).await?;
    daemon.stop().await?;
    judge(&heard, &slots, (begin, end))
}

async fn subscribe(url: &str) -> anyhow::Result<TcpStream> {
    let address = url.strip_prefix("http://").context("the daemon speaks HTTP")?;
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let request = format!("GET /events/stream?after=0 HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

/// Notes when each event of a stream came, until an instant.
async fn hear(mut stream: TcpStream, end: u64) -> anyhow::Result<Heard> {
    let (mut heard, mut bytes) = (Heard::with_capacity(3_000), Vec::with_capacity(64 * 1_024));
    let mut last_id = None;
    loop {
        let left = Duration::from_micros(end.saturating_sub(wall_micros()));
        match tokio::time::timeout(left, stream.read_buf(&mut bytes)).await {
            Err(_) => return Ok(heard),
            Ok(read) => ensure!(read? > 0, "the daemon ended a stream"),
        }
        let now = wall_micros();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for line in bytes[..whole].split(|byte| *byte == b'\n') {
            if let Some(id) = line.strip_prefix(b"id: ") {
                last_id = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok());
            } else if line.starts_with(b"event: message") {
                heard.push((last_id.context("an event has an id")?, now));
            }
        }
        bytes.drain(..whole);
    }
}

async fn make_jobs(daemon: &Daemon) -> anyhow::Result<()> {
    let first = wall_micros() / 1_000_000 * 1_000_000 + 2_000_000;
    for number in 0..JOBS {
        let start = i64::try_from(first + number * 1_000_000 / JOBS)?;
        let job = json!({
            "name": format!("ticker-{number:03}"),
            "schedule": {
                "type": "interval", "seconds": 1,
                "start_at": Timestamp::from_micros(start).to_string(),
            },
            "target": { "type": "message", "template": {
                "text": "{{job_name}} ticks for {{slot}}",
                "structured": { "kind": "tick", "slot": "{{slot}}" },
            } },
        });
        let request = daemon.client.post(format!("{}/jobs/recurring", daemon.url));
        let request = request.header("content-type", "application/json").body(job.to_string());
        let answer = request.send().await?;
        ensure!(answer.status() == StatusCode::CREATED, "{}", answer.text().await?);
    }
    Ok(())
}

/// The slot of each event, in microseconds.
async fn slots(daemon: &Daemon) -> anyhow::Result<HashMap<u64, u64>> {
    let (mut slots, mut after) = (HashMap::new(), "0".to_owned());
    loop {
        let url = format!("{}/events?limit=1000&after={after}", daemon.url);
        let page: Value =
            serde_json::from_str(&daemon.client.get(url).send().await?.text().await?)?;
        for event in page["items"].as_array().context("a page has items")? {
            let slot = event["slot"].as_str().and_then(Timestamp::parse);
            let slot = slot.context("an event has a slot")?.as_micros();
            let sequence = event["sequence"].as_u64().context("an event has a sequence")?;
            slots.insert(sequence, u64::try_from(slot)?);
        }
        if page["more"] != true {
            return Ok(slots);
        }
        page["next_cursor"].as_str().context("a page has a cursor")?.clone_into(&mut after);
    }
}

/// How late events were heard after their slots. Fails unless everybody heard each of them once, in order.
fn judge(
    heard: &[Heard],
    slots: &HashMap<u64, u64>,
    (begin, end): (u64, u64),
) -> anyhow::Result<Vec<Figure>> {
    let mut delays = Vec::with_capacity(SUBSCRIBERS * 3_000);
    // What had its slot so shortly before the end may be on its way.
    let counts = |slot: u64| (begin..end - 1_000_000).contains(&slot);
    let expected = slots.values().filter(|slot| counts(**slot)).count();
    for one in heard {
        let in_order = one.iter().zip(1..).all(|((sequence, _), number)| *sequence == number);
        ensure!(in_order, "a subscriber missed an event, or heard one twice");
        let before = delays.len();
        for (sequence, at) in one {
            let slot = *slots.get(sequence).context("an event is not in the log")?;
            if counts(slot) {
                delays.push(at.saturating_sub(slot) as f64 / 1_000.0);
            }
        }
        let heard = delays.len() - before;
        ensure!(heard == expected, "a subscriber heard {heard} of {expected} events");
    }
    delays.sort_by(f64::total_cmp);
    let seconds = MEASURED.as_secs_f64() - 1.0;
    let rate = delays.len() as f64 / seconds / SUBSCRIBERS as f64;
    let share = |share| percentile(&delays, share);
    Ok(vec![
        Figure::new("1,000 streams: events/s each", rate, "×", Goal::AtLeast(99.0)),
        Figure::new("1,000 streams: delay after the slot p50", share(0.5), "ms", Goal::None),
        Figure::new(
            "1,000 streams: delay after the slot p99",
            share(0.99),
            "ms",
            Goal::AtMost(100.0),
        ),
        Figure::new("1,000 streams: delay after the slot max", share(1.0), "ms", Goal::None),
    ])
}
