//! What happens when a slot comes due while a run goes on.

use std::num::NonZeroU32;
use std::time::Duration;

use chronos_engine::{JobResult, NewJob, OverlapPolicy};

use super::{Book, Lab, secs, utc};

/// A job every minute whose runs take `long`, started.
async fn every_minute(lab: &Lab, overlap: OverlapPolicy, long: Duration) -> Book {
    let book = Book::default();
    let job = NewJob::named("beat").every(secs(60)).overlap(overlap);
    lab.register(job, book.slots_taking(long)).await.unwrap();
    lab.start().await.unwrap();
    book
}

#[tokio::test(start_paused = true)]
async fn skip_is_the_usual_policy() {
    assert_eq!(OverlapPolicy::default(), OverlapPolicy::Skip);
}

#[tokio::test(start_paused = true)]
async fn skip_records_the_slot_as_overlap_while_the_real_run_goes_on() {
    let lab = Lab::new();
    let book = every_minute(&lab, OverlapPolicy::Skip, secs(90)).await;
    lab.until("12:02:10").await;
    let status = lab.status("beat");
    assert_eq!(book.len(), 1);
    assert_eq!(status.last_skip, Some((utc("2026-03-02T12:02:00Z"), "overlap".into())));
    assert_eq!((status.run_count, status.skipped_count, status.active_runs), (1, 1, 1));
    assert!(status.is_running, "the skip must not end the run");
    assert_eq!((status.last_run, status.last_result), (None, None), "nothing has ended yet");
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:03:00Z")));

    lab.until("12:02:30").await;
    let status = lab.status("beat");
    assert_eq!(status.last_result, Some(JobResult::Success));
    assert_eq!(status.last_run, Some(utc("2026-03-02T12:01:00Z")));
    assert_eq!(status.last_duration_ms, Some(90_000));
    assert!(!status.is_running);

    lab.until("12:03:00").await;
    assert_eq!(book.lines(), ["2026-03-02T12:01:00Z", "2026-03-02T12:03:00Z"]);
    assert_eq!(lab.past("beat").await, ["SUCCESS", "SKIPPED", "RUNNING"]);
}

#[tokio::test(start_paused = true)]
async fn concurrent_runs_are_all_counted() {
    let lab = Lab::new();
    let book = every_minute(&lab, OverlapPolicy::Concurrent, secs(150)).await;
    for (at, active) in [("12:01:10", 1), ("12:02:10", 2), ("12:03:10", 3), ("12:03:40", 2)] {
        lab.until(at).await;
        let status = lab.status("beat");
        assert_eq!((status.active_runs, status.is_running), (active, true), "at {at}");
    }
    assert_eq!((book.len(), lab.status("beat").skipped_count), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn concurrency_may_be_bounded() {
    let lab = Lab::new();
    let two = OverlapPolicy::ConcurrentUpTo(NonZeroU32::new(2).unwrap());
    let book = every_minute(&lab, two, secs(150)).await;
    lab.until("12:03:10").await;
    let status = lab.status("beat");
    assert_eq!((book.len(), status.active_runs, status.skipped_count), (2, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_queued_slot_follows_the_run_and_further_ones_are_skipped() {
    let lab = Lab::new();
    let book = every_minute(&lab, OverlapPolicy::QUEUE, secs(150)).await;
    lab.until("12:03:10").await;
    assert_eq!((book.len(), lab.status("beat").skipped_count), (1, 1), "one waits, one is skipped");
    lab.until("12:03:30").await;
    assert_eq!(book.lines(), ["2026-03-02T12:01:00Z", "2026-03-02T12:02:00Z"]);
    let status = lab.status("beat");
    assert_eq!((status.active_runs, status.last_duration_ms), (1, Some(150_000)));
    lab.until("12:06:00").await;
    assert_eq!(lab.status("beat").last_duration_ms, Some(150_000), "without the wait");
}

#[tokio::test(start_paused = true)]
async fn a_replacing_slot_stops_the_run_and_takes_its_place() {
    let lab = Lab::new();
    let book = Book::default();
    let noted = book.clone();
    let job = NewJob::named("beat").every(secs(60)).overlap(OverlapPolicy::Replace);
    lab.register(job, move |context: chronos_engine::JobContext| {
        let book = noted.clone();
        async move {
            book.note(format!("began {}", context.scheduled_for().format("%H:%M")));
            context.token().cancelled().await;
            book.note(format!("stopped {}", context.scheduled_for().format("%H:%M")));
        }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:02:05").await;
    assert_eq!(book.lines(), ["began 12:01", "stopped 12:01", "began 12:02"]);
    let status = lab.status("beat");
    assert_eq!((status.active_runs, status.error_count), (1, 1));
    let replaced = "cancelled: replaced by the next run";
    assert_eq!(status.last_result, Some(JobResult::Failed(replaced.into())));
    assert_eq!(lab.past("beat").await, ["CANCELLED", "RUNNING"]);
}

#[tokio::test(start_paused = true)]
async fn runs_beyond_the_global_limit_wait_their_turn() {
    let config = chronos_engine::SchedulerConfig { max_concurrent_runs: 2, ..Default::default() };
    let lab = Lab::with(config, "2026-03-02T12:00:00Z");
    let book = Book::default();
    for name in ["one", "two", "three"] {
        let long = book.slots_taking(secs(10));
        lab.register_interval(name, secs(60), long).await.unwrap();
    }
    lab.start().await.unwrap();
    lab.until("12:01:05").await;
    assert_eq!(book.len(), 2);
    lab.until("12:01:11").await;
    assert_eq!(book.len(), 3);
    lab.until("12:01:30").await;
    for name in ["one", "two", "three"] {
        assert_eq!(lab.status(name).last_duration_ms, Some(10_000), "{name}");
    }
}
