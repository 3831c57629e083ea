//! Backpressure: built-in jobs wait while there is too much to do, and are skipped when that does not end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use chronos_core::execution::SkipReason;
use chronos_engine::compaction::{COMPACTION_JOB, CompactionJobConfig, create_compaction_job};
use chronos_engine::{LoadProbe, NewJob, OverlapPolicy, SchedulerConfig};

use super::Lab;

/// A lab whose compaction is asked for, and what says whether there is too much to do.
async fn busy() -> (Lab, Arc<AtomicBool>) {
    let lab = Lab::new();
    let busy = Arc::new(AtomicBool::new(true));
    let seen = busy.clone();
    let probe = move || seen.load(Ordering::SeqCst).then(|| "writes are held up".to_owned());
    lab.backpressure().heed(Arc::new(probe));
    create_compaction_job(&lab, lab.store().clone(), CompactionJobConfig::default()).await.unwrap();
    lab.start().await.unwrap();
    lab.run_job(COMPACTION_JOB).await.unwrap();
    (lab, busy)
}

#[tokio::test(start_paused = true)]
async fn a_built_in_job_begins_once_there_is_less_to_do() {
    let (lab, busy) = busy().await;
    lab.until("12:00:10").await;
    assert_eq!(lab.past(COMPACTION_JOB).await, ["RUNNING"]);
    busy.store(false, Ordering::SeqCst);
    lab.until("12:00:12").await;
    assert_eq!(lab.past(COMPACTION_JOB).await, ["SUCCESS"]);
    let runs = lab.executions(COMPACTION_JOB).await;
    let log = runs[0].run().and_then(|run| run.log.clone()).unwrap();
    assert!(log.starts_with("deferred: writes are held up\n"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_in_vain_is_skipped_and_says_why() {
    let (lab, _busy) = busy().await;
    lab.until("12:00:31").await;
    let runs = lab.executions(COMPACTION_JOB).await;
    let states: Vec<_> = runs.iter().map(|run| (run.status(), run.reason())).collect();
    assert_eq!(states, [("SKIPPED", Some(SkipReason::BACKPRESSURE))]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_begins_runs_late_has_too_much_to_do() {
    let config = SchedulerConfig { max_concurrent_runs: 1, ..SchedulerConfig::default() };
    let lab = Lab::with(config, "2026-03-02T12:00:00Z");
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let job =
        NewJob::named("slow").every(Duration::from_secs(1)).overlap(OverlapPolicy::Concurrent);
    let slow = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(3))
    };
    lab.register(job, slow).await.unwrap();
    assert_eq!(lab.backpressure().pressure(), None);
    lab.start().await.unwrap();
    lab.until("12:00:20").await;
    assert!(runs.load(Ordering::SeqCst) > 4);
    let why = lab.backpressure().pressure();
    assert_eq!(why.as_deref(), Some("runs begin more than 2 s late"));
    lab.pause_job("slow").await.unwrap();
    lab.until("12:03:00").await;
    assert_eq!(lab.backpressure().pressure(), None, "it is over once it is over");
}
