//! Shutting down: tokens, patience, and what is recorded of whom.

use std::time::Duration;

use chronos_engine::{CancellationToken, JobResult, SchedulerError};

use super::{Book, Lab, idle, secs, text, utc};

/// How much time a shutdown took.
async fn shutdown_time(lab: &Lab) -> Duration {
    let before = lab.clock.now_utc();
    lab.shutdown().await.unwrap();
    (lab.clock.now_utc() - before).to_std().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_does_not_run_cannot_be_shut_down() {
    let lab = Lab::new();
    assert_eq!(lab.shutdown().await, Err(SchedulerError::NotRunning));
    lab.start().await.unwrap();
    lab.shutdown().await.unwrap();
    assert_eq!(lab.shutdown().await, Err(SchedulerError::NotRunning));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_of_an_idle_scheduler_takes_no_time() {
    let lab = Lab::new();
    lab.register_interval("beat", secs(60), idle()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:30").await;
    assert_eq!(shutdown_time(&lab).await, Duration::ZERO);
    assert!(!lab.is_running());
    assert!(lab.shutdown_token().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_shut_down_scheduler_runs_nothing_and_cannot_be_started_again() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.shutdown().await.unwrap();
    lab.until("12:05:00").await;
    assert_eq!(book.len(), 0);
    assert_eq!(lab.start().await, Err(SchedulerError::ShutDown));
}

#[tokio::test(start_paused = true)]
async fn a_start_during_a_shutdown_is_refused() {
    let lab = Lab::new();
    lab.start().await.unwrap();
    let (stopped, started) = tokio::join!(lab.shutdown(), lab.start());
    assert_eq!((stopped, started), (Ok(()), Err(SchedulerError::ShutDown)));
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_whose_token_was_cancelled_does_not_start() {
    let lab = Lab::new();
    lab.shutdown_token().cancel();
    assert_eq!(lab.start().await, Err(SchedulerError::ShutDown));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_heeds_its_token_ends_early_and_is_recorded_as_it_ended() {
    let lab = Lab::new();
    let book = Book::default();
    let (noted, clock) = (book.clone(), lab.clock.clone());
    lab.add_cron_job("heedful", "0 * * * * *", None, move |token: CancellationToken| {
        let (book, clock) = (noted.clone(), clock.clone());
        async move {
            token.cancelled().await;
            book.note(text(clock.now_utc()));
            tokio::time::sleep(secs(2)).await;
        }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:10").await;
    assert_eq!(shutdown_time(&lab).await, secs(2), "no longer than the run");
    assert_eq!(book.lines(), ["2026-03-02T12:01:10.005Z"], "the token is cancelled at once");
    let status = lab.status("heedful");
    assert_eq!(status.last_result, Some(JobResult::Success));
    assert_eq!((status.is_running, status.success_count), (false, 1));
    assert_eq!(lab.past("heedful").await, ["SUCCESS"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_look_may_complete_within_the_timeout() {
    let lab = Lab::with_timeout(30);
    let book = Book::default();
    lab.register_interval("deaf", secs(60), book.slots_taking(secs(25))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    let took = shutdown_time(&lab).await;
    assert!(took > secs(24) && took <= secs(25), "{took:?}");
    let status = lab.status("deaf");
    assert_eq!(status.last_result, Some(JobResult::Success));
    assert_eq!(status.last_duration_ms, Some(25_000));
}

#[tokio::test(start_paused = true)]
async fn a_run_past_the_timeout_is_aborted_and_recorded_as_failed() {
    for timeout in [3, 30] {
        let lab = Lab::with_timeout(timeout);
        let book = Book::default();
        let noted = book.clone();
        lab.register_interval("deaf", secs(60), move || {
            let book = noted.clone();
            async move {
                tokio::time::sleep(secs(50)).await;
                book.note("went on");
            }
        })
        .await
        .unwrap();
        lab.start().await.unwrap();
        lab.until("12:01:01").await;
        assert_eq!(shutdown_time(&lab).await, secs(timeout), "the whole timeout, and no more");
        let status = lab.status("deaf");
        assert_eq!(status.last_result, Some(JobResult::Failed("cancelled: shutdown".into())));
        assert_eq!((status.error_count, status.is_running, status.active_runs), (1, false, 0));
        assert!(lab.past("deaf").await.contains(&"CANCELLED"));
        lab.until("12:05:00").await;
        assert_eq!(book.len(), 0, "its future was dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn runs_that_end_and_runs_that_do_not_are_told_apart() {
    let lab = Lab::with_timeout(10);
    let book = Book::default();
    lab.register_interval("quick", secs(60), book.slots_taking(secs(5))).await.unwrap();
    lab.register_interval("slow", secs(60), book.slots_taking(secs(500))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    lab.shutdown().await.unwrap();
    assert_eq!(lab.status("quick").last_result, Some(JobResult::Success));
    assert_eq!(lab.status("quick").last_duration_ms, Some(5_000));
    let aborted = JobResult::Failed("cancelled: shutdown".into());
    assert_eq!(lab.status("slow").last_result, Some(aborted));
}

#[tokio::test(start_paused = true)]
async fn no_slot_fires_while_a_shutdown_waits() {
    let lab = Lab::with_timeout(150);
    let (slow, beat) = (Book::default(), Book::default());
    lab.register_interval("slow", secs(60), slow.slots_taking(secs(140))).await.unwrap();
    lab.register_interval("beat", secs(7), beat.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:01").await;
    let runs = beat.len();
    lab.shutdown().await.unwrap();
    assert_eq!((slow.len(), beat.len()), (1, runs));
    assert!(lab.clock.now_utc() > utc("2026-03-02T12:03:00Z"));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_zero_aborts_at_once_and_the_longest_one_waits() {
    let lab = Lab::with_timeout(0);
    lab.register_interval("deaf", secs(60), Book::default().slots_taking(secs(50))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:01").await;
    assert!(shutdown_time(&lab).await < Duration::from_millis(5));

    let lab = Lab::with_timeout(u64::MAX);
    lab.register_interval("deaf", secs(60), Book::default().slots_taking(secs(50))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:01").await;
    lab.shutdown().await.unwrap();
    assert_eq!(lab.status("deaf").last_result, Some(JobResult::Success));
}
