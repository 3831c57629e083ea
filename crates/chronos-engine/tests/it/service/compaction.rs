//! The compaction job: on its schedule, one at a time, told in figures, stopped between units.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chronos_core::store::{Compacted, CompactionProgress};
use chronos_engine::compaction::run_compaction;
use chronos_engine::compaction::{COMPACTION_JOB, CompactionJobConfig, create_compaction_job};
use chronos_engine::{
    CancellationToken, EmbeddedStore, JobResult, OverlapPolicy, Retention, SchedulerError, Store,
};
use chronos_store::kv::{self, Batch, CompactionWatch, Kv, MemoryKv, Order, Visitor};

use super::{Lab, idle};

/// An engine with five units, each of which gives back a hundred bytes. In the middle of the third it
/// does what it is told to.
struct Units {
    kv: MemoryKv,
    compacted: Arc<AtomicUsize>,
    in_the_third: Box<dyn Fn() -> kv::Result<()> + Send + Sync>,
}

impl Kv for Units {
    fn get(&self, key: &[u8]) -> kv::Result<Option<Vec<u8>>> {
        self.kv.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> kv::Result<()> {
        self.kv.scan(from, to, order, visit)
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> kv::Result<()> {
        self.kv.scan_snapshot(visit)
    }

    fn commit(&self, batch: Batch) -> kv::Result<()> {
        self.kv.commit(batch)
    }

    fn sync(&self) -> kv::Result<()> {
        self.kv.sync()
    }

    // A sync is waited for on a thread that knows nothing of virtual time.
    fn is_durable(&self) -> bool {
        false
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> kv::Result<Compacted> {
        let mut compacted = Compacted { units: 5, ..Compacted::default() };
        for unit in 1..=5 {
            if watch(CompactionProgress { unit, units: 5, bytes: 150 }).is_break() {
                break;
            }
            if unit == 3 {
                (self.in_the_third)()?;
            }
            self.compacted.fetch_add(1, Ordering::SeqCst);
            compacted.done += 1;
            compacted.bytes_before += 150;
            compacted.bytes_after += 50;
        }
        Ok(compacted)
    }

    fn size(&self) -> u64 {
        self.kv.size()
    }
}

/// A store of units, and how many of them were compacted so far.
fn store(
    in_the_third: impl Fn() -> kv::Result<()> + Send + Sync + 'static,
) -> (Arc<dyn Store>, Arc<AtomicUsize>) {
    let compacted = Arc::new(AtomicUsize::new(0));
    let units = Units {
        kv: MemoryKv::new(),
        compacted: compacted.clone(),
        in_the_third: Box::new(in_the_third),
    };
    let store = EmbeddedStore::open(units, Retention::default()).unwrap();
    (Arc::new(store), compacted)
}

async fn log_of_the_last_run(lab: &Lab) -> String {
    let executions = lab.executions(COMPACTION_JOB).await;
    let log = executions.last().unwrap().run().and_then(|run| run.log.clone());
    log.unwrap_or_default().to_string()
}

#[tokio::test(start_paused = true)]
async fn it_runs_on_sundays_at_four_within_ten_minutes() {
    let (store, compacted) = store(|| Ok(()));
    // A Saturday.
    let lab = Lab::over(&store, "2026-03-07T12:00:00Z");
    let config = CompactionJobConfig::default();
    create_compaction_job(&lab, store.clone(), config).await.unwrap();
    let job = lab.store().job_named("", COMPACTION_JOB).await.unwrap().unwrap();
    assert_eq!((job.spec.overlap, job.spec.jitter.as_secs()), (OverlapPolicy::Skip, 600));
    lab.start().await.unwrap();
    lab.until("2026-03-08T03:59:59Z").await;
    assert_eq!(compacted.load(Ordering::SeqCst), 0);
    lab.until("2026-03-08T04:10:00Z").await;
    assert_eq!(compacted.load(Ordering::SeqCst), 5);
    assert_eq!(lab.status(COMPACTION_JOB).last_result, Some(JobResult::Success));
    let log = log_of_the_last_run(&lab).await;
    assert!(log.contains("Compaction complete: 500 bytes given back"), "{log}");
    lab.until("2026-03-15T03:59:59Z").await;
    assert_eq!(compacted.load(Ordering::SeqCst), 5);
    lab.until("2026-03-15T04:10:00Z").await;
    assert_eq!(compacted.load(Ordering::SeqCst), 10);
}

#[tokio::test(start_paused = true)]
async fn whoever_was_away_on_sunday_makes_up_for_it_once() {
    let (store, compacted) = store(|| Ok(()));
    let lab = Lab::over(&store, "2026-03-07T12:00:00Z");
    create_compaction_job(&lab, store.clone(), CompactionJobConfig::default()).await.unwrap();
    drop(lab);
    // Three Sundays later.
    let lab = Lab::over(&store, "2026-03-23T12:00:00Z");
    create_compaction_job(&lab, store.clone(), CompactionJobConfig::default()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("2026-03-23T13:00:00Z").await;
    assert_eq!(compacted.load(Ordering::SeqCst), 5, "each of five units once");
}

#[tokio::test(start_paused = true)]
async fn it_follows_another_schedule_in_another_zone() {
    let (store, compacted) = store(|| Ok(()));
    let lab = Lab::over(&store, "2026-03-02T12:00:00Z");
    let config = CompactionJobConfig {
        cron: "0 0 2 * * *".into(),
        timezone: "Asia/Tokyo".into(),
        jitter_secs: 0,
    };
    create_compaction_job(&lab, store.clone(), config).await.unwrap();
    lab.start().await.unwrap();
    lab.until("16:59:59").await;
    assert_eq!(compacted.load(Ordering::SeqCst), 0);
    lab.until("17:00:00").await;
    assert_eq!(compacted.load(Ordering::SeqCst), 5);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_cannot_be_meant_is_refused() {
    let lab = Lab::new();
    for config in [
        CompactionJobConfig { cron: "at four".into(), ..CompactionJobConfig::default() },
        CompactionJobConfig { timezone: "Mars".into(), ..CompactionJobConfig::default() },
    ] {
        let refused = create_compaction_job(&lab, lab.store().clone(), config).await;
        assert!(matches!(refused, Err(SchedulerError::InvalidJob { .. })), "{refused:?}");
    }
    create_compaction_job(&lab, lab.store().clone(), CompactionJobConfig::default()).await.unwrap();
    assert!(lab.register(chronos_engine::NewJob::named(COMPACTION_JOB), idle()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_store_in_memory_has_nothing_to_compact_and_says_so() {
    let lab = Lab::new();
    create_compaction_job(&lab, lab.store().clone(), CompactionJobConfig::default()).await.unwrap();
    lab.start().await.unwrap();
    lab.run_job(COMPACTION_JOB).await.unwrap();
    lab.until("12:00:01").await;
    assert_eq!(lab.past(COMPACTION_JOB).await, ["SUCCESS"]);
    assert!(log_of_the_last_run(&lab).await.contains("nothing to compact"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_compaction_is_a_failed_run() {
    let (store, _) = store(|| Err(kv::Error("the disk is gone".into())));
    let lab = Lab::over(&store, "2026-03-02T12:00:00Z");
    create_compaction_job(&lab, store.clone(), CompactionJobConfig::default()).await.unwrap();
    lab.start().await.unwrap();
    lab.run_job(COMPACTION_JOB).await.unwrap();
    lab.until("12:00:01").await;
    let result = lab.status(COMPACTION_JOB).last_result;
    assert!(matches!(&result, Some(JobResult::Failed(text)) if text.contains("the disk is gone")));
    assert!(log_of_the_last_run(&lab).await.contains("the disk is gone"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_stops_it_after_the_unit_under_way() {
    let token = CancellationToken::new();
    let shutdown = token.clone();
    let (store, compacted) = store(move || {
        // The request comes while the third unit is under way, which is finished.
        shutdown.cancel();
        Ok(())
    });
    let stopped = run_compaction(store, token).await;
    assert_eq!(stopped, Err("stopped after 3 of 5 units".into()));
    assert_eq!(compacted.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_run_asked_to_stop_leaves_the_rest_and_ends() {
    let (begun, wait) = std::sync::mpsc::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel();
    let may_go_on = std::sync::Mutex::new(may_go_on);
    let (store, compacted) = store(move || {
        begun.send(()).unwrap();
        may_go_on.lock().unwrap().recv().unwrap();
        Ok(())
    });
    let lab = Lab::over(&store, "2026-03-02T12:00:00Z");
    create_compaction_job(&lab, store.clone(), CompactionJobConfig::default()).await.unwrap();
    lab.start().await.unwrap();
    lab.run_job(COMPACTION_JOB).await.unwrap();
    while wait.try_recv().is_err() {
        tokio::task::yield_now().await;
    }
    let (stopped, ()) = tokio::join!(lab.shutdown(), async {
        while !lab.shutdown_token().is_cancelled() {
            tokio::task::yield_now().await;
        }
        go_on.send(()).unwrap();
    });
    stopped.unwrap();
    assert_eq!(compacted.load(Ordering::SeqCst), 3);
    assert!(log_of_the_last_run(&lab).await.contains("stopped after 3 of 5 units"));
}
