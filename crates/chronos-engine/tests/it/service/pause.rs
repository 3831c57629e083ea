//! Pausing and resuming.

use chronos_engine::chronos_core::execution::{SkipReason, State};
use chronos_engine::{CatchUpPolicy, JobResult, NewJob};

use super::{Book, Lab, secs, utc};

#[tokio::test(start_paused = true)]
async fn a_paused_job_stays_registered_and_its_slots_are_skipped_as_paused() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(2))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:30").await;
    let before = lab.status("beat");
    lab.pause_job("beat").await.unwrap();
    assert!(lab.registry().is_paused("beat"));
    lab.until("12:03:30").await;

    let status = lab.status("beat");
    assert_eq!(book.len(), 1);
    assert_eq!((status.run_count, status.skipped_count, status.error_count), (3, 2, 0));
    assert_eq!(status.last_skip, Some((utc("2026-03-02T12:03:00Z"), "paused".into())));
    assert!(status.is_paused && !status.is_running);
    assert_eq!(
        (status.last_run, status.last_duration_ms, status.last_result),
        (before.last_run, Some(2_000), Some(JobResult::Success)),
        "what ran last stays as it was"
    );
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:04:00Z")), "shown also while paused");
    assert_eq!(lab.past("beat").await, ["SUCCESS", "SKIPPED", "SKIPPED"]);
    let newest = lab.history("beat", 1).await.unwrap().remove(0);
    assert!(matches!(newest.state, State::Skipped { reason: SkipReason::Paused(_), .. }));
}

#[tokio::test(start_paused = true)]
async fn a_resumed_job_waits_for_its_next_slot() {
    let lab = Lab::new();
    let book = Book::default();
    let job = NewJob::named("beat").every(secs(60)).catch_up(CatchUpPolicy::RunOnce);
    lab.register(job, book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.pause_job("beat").await.unwrap();
    lab.until("12:05:30").await;
    lab.resume_job("beat").await.unwrap();
    assert!(!lab.registry().is_paused("beat"));
    assert_eq!(lab.status("beat").next_run, Some(utc("2026-03-02T12:06:00Z")));
    lab.until("12:05:59").await;
    assert_eq!(book.len(), 0, "neither at once nor caught up");
    lab.until("12:06:00").await;
    assert_eq!(book.lines(), ["2026-03-02T12:06:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_settles_slots_that_are_due_and_counts_them() {
    // Paused before the start: the slots of the meantime are nobody's to run.
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.until("12:03:30").await;
    lab.pause_job("beat").await.unwrap();
    let status = lab.status("beat");
    assert_eq!(status.skipped_count, 3);
    assert_eq!(status.last_skip, Some((utc("2026-03-02T12:03:00Z"), "missed".into())));
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:04:00Z")));
}

#[tokio::test(start_paused = true)]
async fn pausing_and_resuming_twice_changes_nothing_more() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    for _ in 0..2 {
        lab.pause_job("beat").await.unwrap();
    }
    assert!(lab.registry().is_paused("beat"));
    for _ in 0..2 {
        lab.resume_job("beat").await.unwrap();
    }
    lab.until("12:01:00").await;
    assert_eq!(book.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_lets_the_run_under_way_end() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(30))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:10").await;
    lab.pause_job("beat").await.unwrap();
    assert!(lab.status("beat").is_running && lab.status("beat").is_paused);
    lab.until("12:01:40").await;
    assert_eq!(lab.status("beat").last_result, Some(JobResult::Success));
}

#[tokio::test(start_paused = true)]
async fn a_one_time_job_paused_over_its_instant_is_late_not_lost() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_one_shot("once", utc("2026-03-02T12:01:00Z"), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.pause_job("once").await.unwrap();
    lab.until("12:30:00").await;
    assert_eq!(book.len(), 0);
    lab.resume_job("once").await.unwrap();
    lab.until("12:30:01").await;
    assert_eq!(book.lines(), ["2026-03-02T12:01:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_paused_job_resumes_by_itself_at_the_time_that_was_said() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    let end = utc("2026-03-02T12:02:30Z");
    lab.pause_job_until("beat", end, Some("a moment")).await.unwrap();
    lab.until("12:02:29").await;
    assert!(lab.registry().is_paused("beat"));
    lab.until("12:02:31").await;
    assert!(!lab.registry().is_paused("beat"), "between two slots");
    lab.until("12:04:00").await;
    assert_eq!(book.lines(), ["2026-03-02T12:03:00Z", "2026-03-02T12:04:00Z"]);
    let oldest = lab.history("beat", 9).await.unwrap().pop().unwrap();
    assert_eq!((oldest.reason(), oldest.note()), (Some("paused"), Some("a moment")));
    let past = lab.pause_job_until("beat", end, None).await.unwrap_err();
    assert!(past.to_string().contains("resume_at"), "{past}");
}
