//! A store that outlives its scheduler: closures meet what it remembers by name.

use std::sync::Arc;

use chronos_engine::{EmbeddedStore, JobResult, JobStatus, NewJob, Retention, Store};

use super::{Book, Lab, idle, secs, utc};

fn store() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory(Retention::default()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn pause_figures_and_history_survive_a_restart() {
    let store = store();
    let book = Book::default();
    let first = Lab::over(&store, "2026-03-02T12:00:00Z");
    let id = first.register_interval("beat", secs(60), book.slots_taking(secs(3))).await.unwrap();
    first.start().await.unwrap();
    first.until("12:02:30").await;
    first.pause_job("beat").await.unwrap();
    first.until("12:03:30").await;
    first.shutdown().await.unwrap();
    let before = first.status("beat");

    let second = Lab::over(&store, "2026-03-02T12:03:40Z");
    assert!(!second.registry().is_registered("beat"), "not before its closure is here");
    let same = second.register_interval("beat", secs(60), book.slots()).await.unwrap();
    assert_eq!(same, id);
    // How long a run waited is told of runs in this process alone.
    let remembered =
        JobStatus { last_jitter_ms: None, last_queue_delay_ms: None, ..before.clone() };
    assert_eq!(second.status("beat"), remembered);
    assert_eq!((before.success_count, before.skipped_count, before.is_paused), (2, 1, true));
    assert_eq!(second.past("beat").await, ["SUCCESS", "SUCCESS", "SKIPPED"]);

    second.start().await.unwrap();
    second.until("12:04:30").await;
    assert_eq!((book.len(), second.status("beat").skipped_count), (2, 2), "still paused");
    second.resume_job("beat").await.unwrap();
    second.until("12:05:00").await;
    assert_eq!(second.status("beat").success_count, 3);
}

#[tokio::test(start_paused = true)]
async fn failures_are_remembered_with_their_message() {
    let store = store();
    let first = Lab::over(&store, "2026-03-02T12:00:00Z");
    let fails = || async { Err::<(), _>("no paper") };
    first.register_interval("print", secs(60), fails).await.unwrap();
    first.start().await.unwrap();
    first.until("12:01:00").await;
    first.shutdown().await.unwrap();

    let second = Lab::over(&store, "2026-03-02T12:01:30Z");
    second.register_interval("print", secs(60), fails).await.unwrap();
    let status = second.status("print");
    assert_eq!(status.last_result, Some(JobResult::Failed("no paper".into())));
    assert_eq!((status.error_count, status.error_rate()), (1, Some(1.0)));
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_interval_keeps_its_phase() {
    let store = store();
    let first = Lab::over(&store, "2026-03-02T12:00:00Z");
    first.register_interval("beat", secs(600), idle()).await.unwrap();
    first.start().await.unwrap();
    first.until("12:01:00").await;
    first.shutdown().await.unwrap();

    let second = Lab::over(&store, "2026-03-02T12:07:00Z");
    let id = second.register_interval("beat", secs(600), idle()).await.unwrap();
    assert_eq!(second.status("beat").next_run, Some(utc("2026-03-02T12:10:00Z")));
    assert_eq!(store.job(id).await.unwrap().spec.version, 1, "nothing was edited");
}

#[tokio::test(start_paused = true)]
async fn a_changed_schedule_is_an_edit_of_the_same_job() {
    let store = store();
    let book = Book::default();
    let first = Lab::over(&store, "2026-03-02T12:00:00Z");
    let id = first.register_interval("beat", secs(600), book.slots()).await.unwrap();
    first.start().await.unwrap();
    first.until("12:10:00").await;
    first.shutdown().await.unwrap();

    let second = Lab::over(&store, "2026-03-02T12:11:00Z");
    let job = NewJob::named("beat").cron("0 30 * * * *");
    assert_eq!(second.register(job, book.slots()).await.unwrap(), id);
    let status = second.status("beat");
    assert_eq!((status.run_count, status.cron_expr.as_str()), (1, "0 30 * * * *"));
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:30:00Z")));
    assert_eq!(store.job(id).await.unwrap().spec.version, 2);
    second.start().await.unwrap();
    second.until("12:30:00").await;
    assert_eq!(book.lines(), ["2026-03-02T12:10:00Z", "2026-03-02T12:30:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_a_shutdown_cut_short_is_run_again_by_the_next_scheduler() {
    let store = store();
    let book = Book::default();
    let first = Lab::over(&store, "2026-03-02T12:00:00Z");
    first.register_interval("slow", secs(600), book.slots_taking(secs(400))).await.unwrap();
    first.start().await.unwrap();
    first.until("12:10:00").await;
    first.shutdown().await.unwrap();

    let second = Lab::over(&store, "2026-03-02T12:11:00Z");
    second.register_interval("slow", secs(600), book.slots()).await.unwrap();
    second.start().await.unwrap();
    second.until("12:11:01").await;
    assert_eq!(book.lines(), ["2026-03-02T12:10:00Z", "2026-03-02T12:10:00Z"]);
    assert_eq!(second.past("slow").await, ["CANCELLED", "SUCCESS"]);
}

#[tokio::test(start_paused = true)]
async fn a_one_time_job_that_ran_does_not_run_again() {
    let store = store();
    let book = Book::default();
    for start in ["2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z"] {
        let lab = Lab::over(&store, start);
        lab.register_one_shot("once", utc("2026-03-02T12:01:00Z"), book.slots()).await.unwrap();
        lab.start().await.unwrap();
        tokio::time::sleep(secs(120)).await;
        lab.shutdown().await.unwrap();
    }
    assert_eq!(book.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_remembered_job_without_a_closure_fails_and_says_so() {
    let store = store();
    let first = Lab::over(&store, "2026-03-02T12:00:00Z");
    first.register_interval("gone", secs(60), idle()).await.unwrap();
    let second = Lab::over(&store, "2026-03-02T12:00:00Z");
    second.start().await.unwrap();
    second.until("12:01:00").await;
    let dead = store.dead_letters(None, 1).await.unwrap().remove(0);
    let text = format!("{:?}", dead.state);
    assert!(text.contains("no handler is registered under \\\"gone\\\""), "{text}");
}
