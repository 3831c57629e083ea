//! Runs by hand: beside the schedule, the pause and the jitter, never beside the overlap policy.

use chronos_engine::chronos_core::execution::Trigger;
use chronos_engine::{NewJob, OverlapPolicy, SchedulerError};

use super::{Book, Lab, secs, utc};

#[tokio::test(start_paused = true)]
async fn a_run_by_hand_begins_at_once_and_moves_no_slot() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:00:20").await;
    let id = lab.run_job("beat").await.unwrap();
    lab.until("12:00:21").await;
    assert_eq!(book.len(), 1);
    assert_eq!(lab.status("beat").next_run, Some(utc("2026-03-02T12:01:00Z")));
    let run = lab.store().execution(id).await.unwrap();
    assert_eq!((run.status(), run.trigger), ("SUCCESS", Trigger::Manual { number: 1 }));
    lab.until("12:01:00").await;
    assert_eq!(book.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_paused_job_runs_by_hand_and_stays_paused() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.pause_job("beat").await.unwrap();
    lab.run_job("beat").await.unwrap();
    lab.until("12:02:30").await;
    assert_eq!(book.len(), 1);
    let status = lab.status("beat");
    assert_eq!((status.success_count, status.skipped_count, status.is_paused), (1, 2, true));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_would_overlap_is_refused() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(30))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:10").await;
    let refused = lab.run_job("beat").await.unwrap_err();
    assert_eq!(refused, SchedulerError::AlreadyRunningJob("beat".into()));
    assert!(refused.to_string().contains("already running"), "{refused}");
    lab.until("12:01:40").await;
    lab.run_job("beat").await.unwrap();
    lab.until("12:01:41").await;
    assert_eq!((book.len(), lab.status("beat").skipped_count), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn concurrent_jobs_run_by_hand_beside_themselves() {
    let lab = Lab::new();
    let book = Book::default();
    let job = NewJob::named("beat").every(secs(3_600)).overlap(OverlapPolicy::Concurrent);
    lab.register(job, book.slots_taking(secs(30))).await.unwrap();
    lab.start().await.unwrap();
    let (one, two) = (lab.run_job("beat").await.unwrap(), lab.run_job("beat").await.unwrap());
    assert_ne!(one, two);
    lab.until("12:00:10").await;
    assert_eq!((book.len(), lab.status("beat").active_runs), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_run_asked_for_before_the_start_waits_for_it() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(3_600), book.slots()).await.unwrap();
    lab.run_job("beat").await.unwrap();
    lab.until("12:00:30").await;
    assert_eq!(book.len(), 0);
    lab.start().await.unwrap();
    lab.until("12:00:31").await;
    assert_eq!(book.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_by_hand_after_a_shutdown() {
    let lab = Lab::new();
    lab.register_interval("beat", secs(3_600), super::idle()).await.unwrap();
    lab.start().await.unwrap();
    lab.shutdown().await.unwrap();
    assert_eq!(lab.run_job("beat").await, Err(SchedulerError::ShutDown));
}
