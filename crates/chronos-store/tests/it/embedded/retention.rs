//! A store that keeps only part of the past.

use chronos_core::execution::Failure;
use chronos_core::plan::Ending;
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::Error;
use chronos_core::{JobSpec, Timestamp};
use chronos_store::Retention;
use chronos_store::kv::MemoryKv;

use super::Forgetful;
use crate::bench::{Bench, at, every, finish, job_id};
use crate::shared_kv::SharedKv;

async fn keeping(executions: u32) -> (Bench, SharedKv<MemoryKv>) {
    let kv = SharedKv::new(MemoryKv::new());
    let retention = Retention {
        executions_per_job: executions.try_into().ok(),
        audit_events: None,
        ..Retention::default()
    };
    let engine = Forgetful { kv: kv.clone(), retention };
    (Bench::new(engine).await, kv)
}

async fn slots(bench: &Bench, job: &str) -> Vec<Timestamp> {
    let rows = bench.rows(job_id(job)).await;
    rows.iter().map(|row| row.slot).collect()
}

#[tokio::test]
async fn the_newest_executions_of_each_job_are_kept() {
    let (mut bench, _) = keeping(3).await;
    bench.create(every("a", 10)).await;
    bench.create(every("b", 20)).await;
    let mut oldest = None;
    for round in 1..=8 {
        bench.fire(round * 10).await;
        for claim in bench.take(round * 10).await {
            let refused = Ending::Failed(Failure::permanent("no"));
            let ended = bench.end(&claim, refused, round * 10 + 1).await;
            oldest.get_or_insert(ended);
        }
        if round % 3 == 0 {
            bench.reopen().await;
        }
    }
    assert_eq!(slots(&bench, "a").await, [80, 70, 60].map(at));
    assert_eq!(slots(&bench, "b").await, [80, 60, 40].map(at));
    assert_eq!(bench.dead_letters(None, 99).await.unwrap().len(), 6);
    let oldest = oldest.unwrap().id;
    assert_eq!(bench.execution(oldest).await, Err(Error::NoSuchExecution(oldest)));
    let tally = bench.job(job_id("a")).await.unwrap().standing.tally;
    assert_eq!(tally.failed, 8, "what happened is counted all the same");
}

#[tokio::test]
async fn a_step_that_ends_many_keeps_to_the_bound() {
    let (bench, _) = keeping(2).await;
    bench.create(JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) }).await;
    for second in [10, 20, 30, 40] {
        bench.fire(second).await;
    }
    let claims = bench.take(40).await;
    let refused = Ending::Failed(Failure::permanent("no"));
    let ends = claims.iter().map(|claim| finish(claim.hold, refused.clone(), 41));
    bench.finish(ends.collect(), at(41)).await.unwrap();
    assert_eq!(slots(&bench, "a").await, [40, 30].map(at));
    assert_eq!(bench.dead_letters(None, 9).await.unwrap().len(), 2);
    // Fifty slots are missed in one step; the newest fires.
    bench.fire(550).await;
    let kept = slots(&bench, "a").await;
    let past: Vec<_> = kept.into_iter().filter(|slot| *slot < at(540)).collect();
    assert_eq!(past, [530, 520].map(at));
}

#[tokio::test]
async fn a_deleted_job_leaves_nothing_behind() {
    let (bench, kv) = keeping(5).await;
    bench.create(JobSpec { overlap: OverlapPolicy::QUEUE, ..every("a", 10) }).await;
    let first = bench.start(10).await;
    bench.end(&first, Ending::Success, 11).await;
    let running = bench.start(20).await;
    bench.fire(30).await;
    let waiting = bench.rows(job_id("a")).await.remove(0);
    bench.save_checkpoint(&running.hold, b"half".to_vec()).await.unwrap();
    bench.delete_job(job_id("a"), at(31)).await.unwrap();
    bench.end(&running, Ending::Success, 32).await;
    let executions = [first.hold.execution, running.hold.execution, waiting.id];
    for id in executions {
        assert_eq!(kv.entries_about(id.as_bytes()), []);
    }
    assert_eq!(kv.entries_about(job_id("a").as_bytes()), []);
}

#[tokio::test]
async fn about_the_newest_decisions_are_kept_and_the_count_goes_on() {
    let kv = SharedKv::new(MemoryKv::new());
    let retention =
        Retention { executions_per_job: None, audit_events: Some(10), ..Retention::default() };
    let mut bench = Bench::new(Forgetful { kv, retention }).await;
    bench.create(every("a", 10)).await;
    for second in (10..=500).step_by(10) {
        let claim = bench.start(second).await;
        bench.end(&claim, Ending::Success, second + 1).await;
    }
    let kept = bench.audit(0, 1_000).await.unwrap();
    assert!((10..=13).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().unwrap().sequence, 101);
    for pair in kept.windows(2) {
        assert_eq!(pair[1].sequence, pair[0].sequence + 1);
    }
    assert_eq!(bench.audit(98, 9).await.unwrap(), kept[kept.len() - 3..]);
    bench.restart().await;
    bench.fire(510).await;
    let newest = bench.audit(101, 9).await.unwrap();
    assert_eq!(newest[0].sequence, 102);
}

#[tokio::test]
async fn decisions_that_are_too_old_gather_a_little_and_go_together() {
    let kv = SharedKv::new(MemoryKv::new());
    let retention =
        Retention { executions_per_job: None, audit_events: Some(100), ..Retention::default() };
    let bench = Bench::new(Forgetful { kv, retention }).await;
    bench.create(every("a", 10)).await;
    let mut counts = Vec::new();
    for second in (10..=3_000).step_by(10) {
        let claim = bench.start(second).await;
        bench.end(&claim, Ending::Success, second + 1).await;
        counts.push(bench.audit(0, 1_000).await.unwrap().len());
    }
    let full = &counts[60..];
    assert!(full.iter().all(|count| (100..=120).contains(count)), "{full:?}");
    let gone = full.windows(2).filter(|pair| pair[1] < pair[0]);
    assert!(gone.count() < full.len() / 4, "they go a few at a time: {full:?}");
}
