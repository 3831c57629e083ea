//! Registering, replacing and removing jobs.

use chronos_engine::{NewJob, SchedulerError};

use super::{Book, Lab, idle, secs, text, utc};

#[tokio::test(start_paused = true)]
async fn nothing_runs_before_the_start() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(1), book.slots()).await.unwrap();
    assert!(!lab.is_running());
    lab.until("12:00:30").await;
    assert_eq!(book.len(), 0);
    lab.start().await.unwrap();
    assert!(lab.is_running());
    lab.until("12:00:32").await;
    assert!(book.len() > 0);
}

#[tokio::test(start_paused = true)]
async fn a_registered_job_is_idle_active_and_knows_its_next_run() {
    let lab = Lab::new();
    let id = lab.add_cron_job("beat", "0 * * * * *", None, |_| async {}).await.unwrap();
    let status = lab.status("beat");
    assert_eq!(status.job_name, "beat");
    assert_eq!(status.cron_expr, "0 * * * * *");
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:01:00Z")));
    assert_eq!((status.run_count, status.error_count, status.skipped_count), (0, 0, 0));
    assert_eq!((status.last_run, status.last_duration_ms, status.last_result), (None, None, None));
    assert!(!status.is_running && !status.is_paused);
    assert_eq!(lab.store().job(id).await.unwrap().spec.name.as_ref(), "beat");
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_once() {
    let lab = Lab::new();
    let (first, second) = (Book::default(), Book::default());
    lab.register_interval("beat", secs(60), first.slots()).await.unwrap();
    let refused = lab.register_interval("beat", secs(5), second.slots()).await.unwrap_err();
    assert_eq!(refused, SchedulerError::DuplicateJob("beat".into()));
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    assert_eq!((first.len(), second.len()), (1, 0));
    assert_eq!(lab.registry().job_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_two_registrations_at_once_one_gets_the_name() {
    let lab = Lab::new();
    let job = || NewJob::named("beat").every(secs(60));
    let (one, other) = tokio::join!(lab.register(job(), idle()), lab.register(job(), idle()));
    assert_ne!(one.is_ok(), other.is_ok());
}

#[tokio::test(start_paused = true)]
async fn jobs_registered_after_the_start_run_too() {
    let lab = Lab::new();
    let book = Book::default();
    lab.start().await.unwrap();
    lab.until("12:00:30").await;
    lab.register_interval("late", secs(10), book.slots()).await.unwrap();
    lab.register_one_shot("past", utc("2026-03-02T11:00:00Z"), book.slots()).await.unwrap();
    lab.until("12:00:31").await;
    assert_eq!(book.lines(), ["2026-03-02T11:00:00Z"], "late, not lost");
    assert_eq!(lab.status("past").next_run, None);
    lab.until("12:00:41").await;
    assert_eq!(book.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_takes_over_the_name_the_figures_and_the_next_run() {
    let lab = Lab::new();
    let (old, new) = (Book::default(), Book::default());
    let id = lab.register_interval("beat", secs(60), old.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:02:00").await;
    let job = NewJob::named("beat").cron("30 * * * * *");
    assert_eq!(lab.replace(job, new.slots()).await.unwrap(), id);
    let status = lab.status("beat");
    assert_eq!((status.run_count, status.cron_expr.as_str()), (2, "30 * * * * *"));
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:02:30Z")));
    lab.until("12:03:30").await;
    assert_eq!((old.len(), new.len()), (2, 2));
    assert_eq!(lab.status("beat").run_count, 4);
}

#[tokio::test(start_paused = true)]
async fn a_run_under_way_survives_the_replacement_of_its_job() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(20))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:10").await;
    lab.replace(NewJob::named("beat").every(secs(300)), idle()).await.unwrap();
    assert!(lab.registry().is_running("beat"));
    lab.until("12:01:30").await;
    let status = lab.status("beat");
    assert_eq!((status.is_running, status.active_runs, status.success_count), (false, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn replacing_a_job_that_is_not_there_registers_it() {
    let lab = Lab::new();
    lab.replace(NewJob::named("beat").every(secs(60)), idle()).await.unwrap();
    assert!(lab.registry().is_registered("beat"));
}

#[tokio::test(start_paused = true)]
async fn a_removed_job_never_runs_again_and_its_run_is_asked_to_stop() {
    let lab = Lab::new();
    let book = Book::default();
    let stopped = book.clone();
    lab.add_cron_job("beat", "0 * * * * *", None, move |token| {
        let book = stopped.clone();
        async move {
            book.note("began");
            token.cancelled().await;
            book.note("stopped");
        }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:10").await;
    lab.remove_job("beat").await.unwrap();
    assert!(!lab.registry().is_registered("beat"));
    lab.until("12:05:00").await;
    assert_eq!(book.lines(), ["began", "stopped"]);
    assert_eq!(lab.run_job("beat").await, Err(SchedulerError::UnknownJob("beat".into())));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_removed_jobs_run_is_not_counted_for_the_next_of_its_name() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(5))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:02").await;
    lab.remove_job("beat").await.unwrap();
    lab.register_interval("beat", secs(3_600), idle()).await.unwrap();
    lab.until("12:02:00").await;
    assert_eq!(lab.status("beat").run_count, 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_may_be_registered_again_after_its_removal() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    lab.remove_job("beat").await.unwrap();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    assert_eq!(lab.status("beat").run_count, 0);
    lab.until("12:02:01").await;
    assert_eq!(book.len(), 2);
    assert_eq!(lab.status("beat").last_run.map(text), Some("2026-03-02T12:02:00.005Z".into()));
}

#[tokio::test(start_paused = true)]
async fn starting_twice_is_refused() {
    let lab = Lab::new();
    lab.start().await.unwrap();
    assert_eq!(lab.start().await, Err(SchedulerError::AlreadyRunning));
    assert!(lab.is_running());
}
