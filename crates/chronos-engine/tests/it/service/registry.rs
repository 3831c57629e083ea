//! The registry by itself.

use std::sync::Arc;

use chronos_engine::{JobRegistry, JobResult, VirtualClock};

use super::{secs, utc};

fn registry() -> JobRegistry {
    let clock = VirtualClock::starting_at(utc("2026-03-02T12:00:00Z"));
    let registry = JobRegistry::with_clock(Arc::new(clock));
    registry.register("beat", "0 * * * * *");
    registry
}

#[tokio::test(start_paused = true)]
async fn a_new_entry_has_done_nothing() {
    let registry = registry();
    let status = registry.get_status("beat").unwrap();
    assert_eq!((status.job_name.as_str(), status.cron_expr.as_str()), ("beat", "0 * * * * *"));
    assert_eq!((status.run_count, status.last_run, status.next_run), (0, None, None));
    assert!(registry.is_registered("beat"));
    assert!(!registry.is_running("beat") && !registry.is_paused("beat"));
    assert_eq!(registry.job_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_completion_ends_the_run_and_is_counted_by_its_result() {
    let registry = registry();
    registry.record_start("beat");
    assert!(registry.is_running("beat"));
    tokio::time::sleep(secs(4)).await;
    registry.record_complete("beat", JobResult::Success, 1_500);
    let status = registry.get_status("beat").unwrap();
    assert!(!status.is_running);
    assert_eq!(status.last_run, Some(utc("2026-03-02T12:00:02.500Z")), "when it began");
    assert_eq!(status.last_finished, Some(utc("2026-03-02T12:00:04Z")));
    assert_eq!(
        (status.last_duration_ms, status.run_count, status.error_count),
        (Some(1_500), 1, 0)
    );

    registry.record_start("beat");
    registry.record_complete("beat", JobResult::Failed("no".into()), 10);
    let status = registry.get_status("beat").unwrap();
    assert_eq!((status.run_count, status.success_count, status.error_count), (2, 1, 1));
    assert_eq!(status.last_result, Some(JobResult::Failed("no".into())));
}

#[tokio::test(start_paused = true)]
async fn a_skip_touches_neither_the_run_under_way_nor_the_last_one() {
    let registry = registry();
    registry.record_complete("beat", JobResult::Success, 1_500);
    let before = registry.get_status("beat").unwrap();
    registry.record_start("beat");
    registry.record_skip("beat", "overlap");
    let status = registry.get_status("beat").unwrap();
    assert!(status.is_running);
    assert_eq!((status.run_count, status.skipped_count, status.error_count), (2, 1, 0));
    assert_eq!(status.last_skip, Some((utc("2026-03-02T12:00:00Z"), "overlap".into())));
    assert_eq!(
        (status.last_run, status.last_result, status.last_duration_ms),
        (before.last_run, before.last_result, before.last_duration_ms)
    );
}

#[tokio::test(start_paused = true)]
async fn parallel_runs_are_counted_one_by_one() {
    let registry = registry();
    registry.record_start("beat");
    registry.record_start("beat");
    registry.record_complete("beat", JobResult::Success, 1);
    assert_eq!(registry.get_status("beat").unwrap().active_runs, 1);
    assert!(registry.is_running("beat"));
    registry.record_complete("beat", JobResult::Success, 1);
    registry.record_complete("beat", JobResult::Success, 1);
    assert_eq!(registry.get_status("beat").unwrap().active_runs, 0, "never below zero");
}

#[tokio::test(start_paused = true)]
async fn next_run_and_pause_are_what_they_were_set_to() {
    let registry = registry();
    let next = utc("2026-03-02T12:01:00Z");
    registry.set_next_run("beat", Some(next));
    registry.set_paused("beat", true);
    let status = registry.get_status("beat").unwrap();
    assert_eq!((status.next_run, status.is_paused), (Some(next), true));
    registry.set_next_run("beat", None);
    registry.set_paused("beat", false);
    let status = registry.get_status("beat").unwrap();
    assert_eq!((status.next_run, status.is_paused), (None, false));
}

#[tokio::test(start_paused = true)]
async fn unknown_names_are_ignored() {
    let registry = registry();
    registry.record_start("ghost");
    registry.record_complete("ghost", JobResult::Success, 1);
    registry.record_skip("ghost", "overlap");
    registry.set_next_run("ghost", Some(utc("2026-03-02T12:01:00Z")));
    registry.set_paused("ghost", true);
    assert_eq!(registry.get_status("ghost"), None);
    assert!(!registry.is_registered("ghost") && !registry.is_running("ghost"));
    assert!(!registry.is_paused("ghost"));
    assert_eq!(registry.job_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_jobs_are_listed_by_name() {
    let registry = registry();
    registry.register("alpha", "every hour");
    registry.register("zulu", "every hour");
    let all = registry.get_all_status();
    let names: Vec<_> = all.iter().map(|status| status.job_name.as_str()).collect();
    assert_eq!(names, ["alpha", "beat", "zulu"]);
}

#[test]
fn many_may_read_and_write_at_once() {
    let registry = JobRegistry::default();
    registry.register("beat", "every second");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    registry.record_start("beat");
                    registry.record_complete("beat", JobResult::Success, 1);
                }
            });
            scope.spawn(|| {
                for _ in 0..1_000 {
                    let status = registry.get_status("beat").unwrap();
                    assert_eq!(status.run_count, status.success_count);
                }
            });
        }
    });
    let status = registry.get_status("beat").unwrap();
    assert_eq!((status.run_count, status.active_runs), (4_000, 0));
}
