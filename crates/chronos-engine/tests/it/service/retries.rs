//! Trying again after a failure.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use chronos_engine::{IntoHandler, JobContext, JobError, JobResult, NewJob};
use futures::FutureExt;

use super::{Book, Lab, secs, text, utc};

/// A job that notes when it begins and fails the first `failures` times.
fn flaky(
    lab: &Lab,
    book: &Book,
    failures: u32,
    error: JobError,
) -> impl IntoHandler<(JobContext,)> + use<> {
    let (book, clock, runs) = (book.clone(), lab.clock.clone(), AtomicU32::new(0));
    move |_: JobContext| {
        book.note(text(clock.now_utc()));
        let fails = runs.fetch_add(1, Ordering::SeqCst) < failures;
        let error = error.clone();
        async move { if fails { Err(error) } else { Ok(()) } }.boxed()
    }
}

fn waits(book: &Book) -> Vec<Duration> {
    let began: Vec<_> = book.lines().iter().map(|line| utc(line)).collect();
    began.windows(2).map(|pair| (pair[1] - pair[0]).to_std().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn without_retries_a_failure_waits_for_the_next_slot() {
    let lab = Lab::new();
    let book = Book::default();
    let job = flaky(&lab, &book, 1, JobError::transient("busy"));
    lab.register(NewJob::named("flaky").every(secs(600)), job).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:19:00").await;
    assert_eq!(book.len(), 1);
    lab.until("12:20:00").await;
    assert_eq!(lab.status("flaky").last_result, Some(JobResult::Success));
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_tried_again_after_doubling_delays() {
    let lab = Lab::new();
    let book = Book::default();
    let job = flaky(&lab, &book, 3, JobError::transient("busy"));
    let new = NewJob::named("flaky").every(secs(3_600)).retries(5);
    lab.register(new.retry_delay(secs(10), secs(300)), job).await.unwrap();
    lab.start().await.unwrap();
    lab.until("13:30:00").await;
    let waits = waits(&book);
    assert_eq!(waits.len(), 3);
    for (wait, expected) in waits.iter().zip([10.0, 20.0, 40.0]) {
        let share = wait.as_secs_f64() / expected;
        assert!((0.79..1.21).contains(&share), "{waits:?}");
    }
    let status = lab.status("flaky");
    assert_eq!((status.run_count, status.error_count, status.success_count), (4, 3, 1));
    assert_eq!(lab.past("flaky").await, ["FAILED", "FAILED", "FAILED", "SUCCESS"]);
    assert!(lab.store().dead_letters(None, 9).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn permanent_failures_are_not_tried_again() {
    let lab = Lab::new();
    let book = Book::default();
    let job = flaky(&lab, &book, 9, JobError::permanent("bad address"));
    lab.register(NewJob::named("flaky").every(secs(3_600)).retries(5), job).await.unwrap();
    lab.start().await.unwrap();
    lab.until("13:59:00").await;
    assert_eq!(book.len(), 1);
    let dead = lab.store().dead_letters(None, 9).await.unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!(lab.history("flaky", 1).await.unwrap(), dead);
}

#[tokio::test(start_paused = true)]
async fn exhausted_retries_leave_a_dead_letter_and_the_cadence_goes_on() {
    let lab = Lab::new();
    let book = Book::default();
    let job = flaky(&lab, &book, 3, JobError::transient("busy"));
    lab.register(NewJob::named("flaky").every(secs(3_600)).retries(2), job).await.unwrap();
    lab.start().await.unwrap();
    lab.until("14:00:00").await;
    assert_eq!(lab.past("flaky").await, ["FAILED", "FAILED", "FAILED", "SUCCESS"]);
    let dead = lab.store().dead_letters(None, 9).await.unwrap();
    assert_eq!(dead.iter().map(|run| run.attempt).collect::<Vec<_>>(), [3]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_may_ask_for_more_patience() {
    let lab = Lab::new();
    let book = Book::default();
    let patient = JobError::transient("slow down").retry_after(secs(120));
    let job = flaky(&lab, &book, 1, patient);
    lab.register(NewJob::named("flaky").every(secs(3_600)).retries(1), job).await.unwrap();
    lab.start().await.unwrap();
    lab.until("13:10:00").await;
    assert_eq!(waits(&book), [secs(120)]);
}

#[tokio::test(start_paused = true)]
async fn panics_and_time_limits_are_tried_again_too() {
    let lab = Lab::new();
    let runs = AtomicU32::new(0);
    let job = NewJob::named("unlucky").every(secs(3_600)).retries(3).max_execution_time(secs(5));
    lab.register(job, move || {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move {
            match run {
                0 => panic!("on purpose"),
                1 => tokio::time::sleep(secs(60)).await,
                _ => {}
            }
        }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("13:30:00").await;
    assert_eq!(lab.past("unlucky").await, ["FAILED", "TIMED_OUT", "SUCCESS"]);
}

#[tokio::test(start_paused = true)]
async fn the_next_slot_supersedes_a_waiting_retry() {
    let lab = Lab::new();
    let book = Book::default();
    let job = flaky(&lab, &book, 1, JobError::transient("busy"));
    let new = NewJob::named("flaky").every(secs(60)).retries(1);
    lab.register(new.retry_delay(secs(3_600), secs(7_200)), job).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:02:30").await;
    assert_eq!(lab.past("flaky").await, ["FAILED", "SKIPPED", "SUCCESS"]);
    lab.until("14:30:00").await;
    assert!(book.lines().iter().all(|began| began.ends_with(":00Z")), "no retry came later");
}
