//! The figures that the registry keeps of each job.

use std::sync::atomic::{AtomicU32, Ordering};

use chronos_engine::{JobResult, NewJob};

use super::{Book, Lab, secs, utc};

#[tokio::test(start_paused = true)]
async fn runs_failures_and_skips_are_counted_apart() {
    let lab = Lab::new();
    let runs = AtomicU32::new(0);
    // Runs 1, 2 and 4 succeed and run 3 fails; the slots at 12:05 and 12:06 are paused.
    lab.register_interval("beat", secs(60), move || {
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        async move { if run == 3 { Err("third".to_string()) } else { Ok(()) } }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:03:00").await;
    let status = lab.status("beat");
    assert_eq!(status.last_result, Some(JobResult::Failed("third".into())));
    assert_eq!((status.run_count, status.success_count, status.error_count), (3, 2, 1));
    lab.until("12:04:30").await;
    lab.pause_job("beat").await.unwrap();
    lab.until("12:06:30").await;

    let status = lab.status("beat");
    assert_eq!(status.run_count, 6, "runs and skips");
    assert_eq!((status.success_count, status.error_count, status.skipped_count), (3, 1, 2));
    assert_eq!(status.error_rate(), Some(0.25), "of the four runs");
    assert_eq!(status.raw_error_ratio(), Some(1.0 / 6.0), "skips dilute it");
    assert_eq!(status.last_result, Some(JobResult::Success));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_never_ran_has_no_error_rate() {
    let lab = Lab::new();
    lab.register_interval("beat", secs(60), super::idle()).await.unwrap();
    assert_eq!(lab.status("beat").error_rate(), None);
    lab.start().await.unwrap();
    lab.pause_job("beat").await.unwrap();
    lab.until("12:01:00").await;
    assert_eq!(lab.status("beat").error_rate(), None, "a skip is no run");
    assert_eq!(lab.status("beat").raw_error_ratio(), Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn the_last_run_is_known_by_its_start_its_end_and_its_length() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(7))).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:03").await;
    assert!(lab.status("beat").is_running);
    lab.until("12:01:30").await;
    let status = lab.status("beat");
    assert_eq!(status.last_run, Some(utc("2026-03-02T12:01:00Z")));
    assert_eq!(status.last_finished, Some(utc("2026-03-02T12:01:07Z")));
    assert_eq!(status.last_duration_ms, Some(7_000));
    assert!(!status.is_running);
}

#[tokio::test(start_paused = true)]
async fn the_next_run_moves_on_as_soon_as_a_slot_has_fired() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(30))).await.unwrap();
    assert_eq!(lab.status("beat").next_run, Some(utc("2026-03-02T12:01:00Z")));
    lab.start().await.unwrap();
    lab.until("12:01:01").await;
    let status = lab.status("beat");
    assert!(status.is_running);
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:02:00Z")));
}

#[tokio::test(start_paused = true)]
async fn the_history_of_each_job_is_kept_up_to_a_bound() {
    let config = chronos_engine::SchedulerConfig {
        history_per_job: 5.try_into().unwrap(),
        ..Default::default()
    };
    let lab = Lab::with(config, "2026-03-02T12:00:00Z");
    lab.register(NewJob::named("beat").every(secs(1)), super::idle()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    let history = lab.history("beat", 100).await.unwrap();
    assert_eq!(history.len(), 5);
    assert_eq!(history[0].slot.to_string(), "2026-03-02T12:01:00Z", "newest first");
    assert_eq!(lab.status("beat").run_count, 60);
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_during_a_run_does_not_change_how_long_it_took() {
    for step in [-7_200, 7_200] {
        let lab = Lab::new();
        let book = Book::default();
        let job = NewJob::named("job").every(secs(60)).max_runs(1);
        lab.register(job, book.slots_taking(secs(5))).await.unwrap();
        lab.start().await.unwrap();
        tokio::time::sleep(secs(62)).await;
        lab.clock.step(step);
        tokio::time::sleep(secs(4)).await;
        let executions = lab.executions("job").await;
        let run = executions[0].run().unwrap();
        assert_eq!(run.duration().as_secs(), 5, "{step}");
        assert!(run.finished_at >= run.started_at, "{step}");
        let last = lab.store().jobs(None, 1).await.unwrap()[0].standing.tally.last_duration;
        assert_eq!(last, Some(run.duration()));
        let status = lab.status("job");
        assert_eq!(status.last_duration_ms.map(|millis| millis / 1_000), Some(5), "{step}");
    }
}
