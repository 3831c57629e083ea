//! What the scheduler tells its log, word for word.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use chronos_core::store::Compacted;
use chronos_engine::{EmbeddedStore, JitterConfig, NewJob, OverlapPolicy, Retention, Store};
use chronos_store::kv::{self, Batch, CompactionWatch, Kv, MemoryKv, Order, Visitor};
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::{Book, Lab, secs};

/// One line of the log: its level, its sentence and its fields.
#[derive(Clone, Debug)]
struct Line {
    level: Level,
    sentence: String,
    fields: BTreeMap<&'static str, String>,
}

impl Line {
    fn names(&self) -> Vec<&'static str> {
        self.fields.keys().copied().collect()
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        if field.name() == "message" {
            self.sentence = value;
        } else {
            self.fields.insert(field.name(), value);
        }
    }
}

/// Everything told on this thread while the guard lives.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Line>>>);

impl Log {
    fn capture() -> (Self, DefaultGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::registry().with(log.clone());
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self) -> Vec<Line> {
        self.0.lock().unwrap().clone()
    }

    fn sentences(&self) -> Vec<String> {
        self.lines().into_iter().map(|line| line.sentence).collect()
    }

    /// The only line with this sentence.
    fn one(&self, sentence: &str) -> Line {
        let mut lines = self.lines();
        lines.retain(|line| line.sentence == sentence);
        assert_eq!(lines.len(), 1, "{sentence}: {:?}", self.sentences());
        lines.remove(0)
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !event.metadata().target().starts_with("chronos_engine") {
            return;
        }
        let mut line = Line {
            level: *event.metadata().level(),
            sentence: String::new(),
            fields: BTreeMap::new(),
        };
        event.record(&mut line);
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test(start_paused = true)]
async fn a_registration_is_told_with_all_its_choices() {
    let (log, _guard) = Log::capture();
    let lab = Lab::new();
    let (overlap, jitter) = (OverlapPolicy::Concurrent, JitterConfig::new(300));
    let zone = Some("Europe/Berlin");
    let id =
        lab.register_job("day", "0 0 1 * * *", zone, overlap, jitter, super::idle()).await.unwrap();
    let line = log.one("Job registered");
    assert_eq!(line.level, Level::INFO);
    let expected = [
        ("cron", "0 0 1 * * *"),
        ("jitter_secs", "300"),
        ("job", "day"),
        ("overlap", "Concurrent"),
        ("timezone", "Europe/Berlin"),
        ("uuid", &id.to_string()),
    ];
    let told: Vec<_> = line.fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_when_it_starts_and_when_it_completes() {
    let (log, _guard) = Log::capture();
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(2))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:01").await;
    let started = log.one("Job started");
    assert_eq!((started.level, started.names()), (Level::INFO, vec!["job"]));
    assert_eq!(started.fields["job"], "beat");
    lab.until("12:01:03").await;
    let completed = log.one("Job completed");
    assert_eq!((completed.level, completed.names()), (Level::INFO, vec!["duration_ms", "job"]));
    assert_eq!(completed.fields["duration_ms"], "2000");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_a_warning_with_its_error() {
    let (log, _guard) = Log::capture();
    let lab = Lab::new();
    lab.register_interval("beat", secs(60), || async { Err::<(), _>("no paper") }).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    let failed = log.one("Job failed");
    assert_eq!((failed.level, failed.names()), (Level::WARN, vec!["error", "job"]));
    assert_eq!(failed.fields["error"], "no paper");
}

#[tokio::test(start_paused = true)]
async fn a_delay_by_jitter_is_told_for_those_who_debug() {
    let (log, _guard) = Log::capture();
    let lab = Lab::new();
    let book = Book::default();
    let job = NewJob::named("beat").every(secs(600)).jitter(secs(300));
    lab.register(job, book.slots()).await.unwrap();
    lab.register_interval("plain", secs(600), book.slots()).await.unwrap();
    let foreseen = lab.preview_job("beat", 1).await.unwrap().remove(0);
    lab.start().await.unwrap();
    lab.until("12:10:00").await;
    let line = log.one("Applying jitter delay");
    assert_eq!((line.level, line.names()), (Level::DEBUG, vec!["jitter_ms", "job"]));
    let delay = foreseen.effective.unwrap().since(foreseen.nominal);
    assert_eq!(line.fields["jitter_ms"], delay.as_millis().to_string());
    assert_eq!(line.fields["job"], "beat");
}

#[tokio::test(start_paused = true)]
async fn a_late_slot_tells_its_jitter_and_not_its_lateness() {
    let (log, _guard) = Log::capture();
    let lab = Lab::new();
    let job = NewJob::named("beat")
        .every(secs(600))
        .jitter(secs(300))
        .catch_up(chronos_engine::CatchUpPolicy::RunOnce);
    lab.register(job, super::idle()).await.unwrap();
    lab.until("18:05:00").await;
    lab.start().await.unwrap();
    lab.until("18:05:01").await;
    let jitter_ms: u64 = log.one("Applying jitter delay").fields["jitter_ms"].parse().unwrap();
    assert!(jitter_ms < 300_000, "{jitter_ms}");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_is_told_when_it_begins_and_when_it_is_over() {
    let (log, _guard) = Log::capture();
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(5))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    lab.shutdown().await.unwrap();
    assert_eq!(log.one("Initiating scheduler shutdown").level, Level::INFO);
    assert_eq!(log.one("Scheduler shutdown complete").level, Level::INFO);
    let expected = [
        "Job registered",
        "Scheduler started",
        "Job started",
        "Initiating scheduler shutdown",
        "Job completed",
        "Scheduler shutdown complete",
    ];
    assert_eq!(log.sentences(), expected);
}

/// An engine that cannot make anything durable.
struct Forgetful(MemoryKv);

impl Kv for Forgetful {
    fn get(&self, key: &[u8]) -> kv::Result<Option<Vec<u8>>> {
        self.0.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> kv::Result<()> {
        self.0.scan(from, to, order, visit)
    }

    fn commit(&self, batch: Batch) -> kv::Result<()> {
        self.0.commit(batch)
    }

    fn sync(&self) -> kv::Result<()> {
        Err(kv::Error("the disk is gone".into()))
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> kv::Result<()> {
        self.0.scan_snapshot(visit)
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> kv::Result<Compacted> {
        self.0.compact(watch)
    }

    fn size(&self) -> u64 {
        self.0.size()
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_flushed_is_a_warning_and_no_reason_to_stay() {
    let (log, _guard) = Log::capture();
    let store = EmbeddedStore::open(Forgetful(MemoryKv::new()), Retention::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let lab = Lab::over(&store, "2026-03-02T12:00:00Z");
    lab.start().await.unwrap();
    lab.shutdown().await.unwrap();
    let warned = log.one("Store could not be flushed");
    assert_eq!((warned.level, lab.is_running()), (Level::WARN, false));
    assert!(warned.fields["error"].contains("the disk is gone"));
    assert_eq!(log.sentences().last().unwrap(), "Scheduler shutdown complete");
}
