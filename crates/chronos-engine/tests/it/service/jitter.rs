//! Jitter: starts spread over a window, never the slots themselves.

use std::time::Duration;

use chronos_engine::chronos_core::execution::{SkipReason, State};
use chronos_engine::{JitterConfig, NewJob, OverlapPolicy};

use super::{Book, Lab, secs, text, utc};

/// A job every hour, spread over ten minutes, whose runs take 3 s and note when they begin.
async fn spread(lab: &Lab, name: &str) -> Book {
    let book = Book::default();
    let (noted, clock) = (book.clone(), lab.clock.clone());
    let (overlap, jitter) = (OverlapPolicy::Skip, JitterConfig::new(600));
    lab.register_job(name, "0 0 * * * *", None, overlap, jitter, move || {
        noted.note(text(clock.now_utc()));
        tokio::time::sleep(secs(3))
    })
    .await
    .unwrap();
    book
}

fn delays(book: &Book, first_slot: &str) -> Vec<Duration> {
    let began = book.lines().into_iter().map(|line| utc(&line));
    let slots = (0..).map(|hour| utc(first_slot) + Duration::from_hours(hour));
    began.zip(slots).map(|(began, slot)| (began - slot).to_std().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn starts_are_spread_over_the_window_and_slots_stay_where_they_are() {
    let lab = Lab::new();
    let book = spread(&lab, "spread").await;
    lab.start().await.unwrap();
    lab.until("23:30:00").await;
    let delays = delays(&book, "2026-03-02T13:00:00Z");
    assert_eq!(delays.len(), 11);
    assert!(delays.iter().all(|delay| *delay < secs(600)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay > secs(200)), "{delays:?}");
    assert!(delays.windows(2).any(|pair| pair[0] != pair[1]), "{delays:?}");
    let history = lab.history("spread", 20).await.unwrap();
    assert!(history.iter().all(|run| run.slot.as_secs() % 3_600 == 0));
}

#[tokio::test(start_paused = true)]
async fn jobs_that_share_a_time_do_not_begin_together() {
    let lab = Lab::new();
    let books = [spread(&lab, "one").await, spread(&lab, "two").await, spread(&lab, "three").await];
    lab.start().await.unwrap();
    lab.until("13:20:00").await;
    let mut began: Vec<_> = books.iter().flat_map(Book::lines).collect();
    began.sort();
    began.dedup();
    assert_eq!(began.len(), 3, "{began:?}");
}

#[tokio::test(start_paused = true)]
async fn a_preview_shows_the_delay_that_will_be_applied() {
    let lab = Lab::new();
    let book = spread(&lab, "spread").await;
    let foreseen = lab.preview_job("spread", 3).await.unwrap();
    lab.start().await.unwrap();
    lab.until("15:30:00").await;
    let foreseen: Vec<_> = foreseen.iter().map(|run| run.effective.unwrap().to_string()).collect();
    let began: Vec<_> = book.lines().iter().map(|line| text(utc(line))).collect();
    assert_eq!(began, foreseen);
}

#[tokio::test(start_paused = true)]
async fn the_delay_is_no_part_of_the_duration() {
    let lab = Lab::new();
    let book = spread(&lab, "spread").await;
    lab.start().await.unwrap();
    lab.until("13:30:00").await;
    let status = lab.status("spread");
    assert_eq!(status.last_duration_ms, Some(3_000));
    let began = utc(&book.lines()[0]);
    assert_eq!(status.last_run, Some(began), "the start of the run");
    let jitter = began.timestamp_millis() % 3_600_000;
    assert_eq!(status.last_jitter_ms.map(i64::try_from), Some(Ok(jitter)), "told apart");
    assert_eq!(status.last_queue_delay_ms, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_window_longer_than_the_interval_ends_before_the_next_slot() {
    let lab = Lab::new();
    let book = Book::default();
    let job = NewJob::named("tight").every(secs(10)).jitter(secs(u64::MAX));
    lab.register(job, book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:10:10").await;
    assert!(book.len() >= 60, "every slot ran before the next: {}", book.len());
    assert_eq!(lab.status("tight").skipped_count, 0);
}

#[tokio::test(start_paused = true)]
async fn manual_runs_are_never_delayed() {
    let lab = Lab::new();
    let book = spread(&lab, "spread").await;
    lab.start().await.unwrap();
    lab.run_job("spread").await.unwrap();
    lab.until("12:00:00").await;
    assert_eq!(book.lines(), ["2026-03-02T12:00:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_during_the_delay_keeps_the_run_from_beginning() {
    let lab = Lab::new();
    let book = spread(&lab, "spread").await;
    let begins = lab.preview_job("spread", 1).await.unwrap()[0].effective.unwrap();
    assert!(begins.since(utc("2026-03-02T13:00:00Z").into()) > secs(1), "a delay to pause in");
    lab.start().await.unwrap();
    lab.until("13:00:00").await;
    lab.pause_job("spread").await.unwrap();
    lab.until("13:30:00").await;
    assert_eq!(book.len(), 0);
    let status = lab.status("spread");
    assert_eq!((status.skipped_count, status.active_runs), (1, 0));
    let slot = utc("2026-03-02T13:00:00Z");
    assert_eq!(status.last_skip, Some((slot, "paused".into())));
    let skipped = lab.history("spread", 1).await.unwrap().remove(0);
    assert!(matches!(skipped.state, State::Skipped { reason: SkipReason::Paused(_), .. }));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_the_delay() {
    let lab = Lab::new();
    let book = spread(&lab, "spread").await;
    lab.start().await.unwrap();
    lab.until("13:00:00").await;
    lab.shutdown().await.unwrap();
    assert!(lab.clock.now_utc() < utc("2026-03-02T13:00:01Z"));
    assert_eq!(book.len(), 0);
}
