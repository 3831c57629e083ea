//! A failing engine: a verb that says so has changed nothing, and the store works on.

use chronos_core::JobSpec;
use chronos_core::audit::Reconciliation;
use chronos_core::execution::{CancelCause, Failure};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{OverlapPolicy, QuietHours, retry};
use chronos_core::schedule::Zone;
use chronos_core::store::{Claim, Error};
use chronos_core::{ExecutionId, PolicyId, Store};

use super::bench;
use crate::bench::{Bench, at, every, finish, job_id, once, terms, worker};
use crate::conformance::messages::says;

fn policy() -> QuietHours {
    QuietHours::new(PolicyId::new(at(0), [1; 10]), "none", Zone::UTC, at(0))
}

/// What the verbs are about.
struct Work {
    running: Vec<Claim>,
    waiting: ExecutionId,
}

/// Jobs that are due at 20 s, with runs that wait, run, and are about to be lost.
async fn busy(bench: &Bench) -> Work {
    for name in ["a", "b"] {
        bench
            .create(JobSpec {
                overlap: OverlapPolicy::Concurrent,
                retry: retry::Policy::up_to(2),
                ..every(name, 10)
            })
            .await;
    }
    bench.create(says(every("c", 10))).await;
    bench.create_policy(policy()).await.unwrap();
    bench.fire(10).await;
    let running = bench.take(10).await;
    let waiting = bench.run_now(job_id("a"), None, at(11)).await.unwrap().id;
    Work { running, waiting }
}

/// Every verb that writes, by number; `None` past the last. At 45 s each has something to do.
async fn verb(store: &dyn Store, work: &Work, number: usize) -> Option<Result<(), Error>> {
    let (now, id) = (at(45), job_id("a"));
    let edit = Change::Edit(Box::new(JobSpec { name: "z".into(), ..every("a", 7) }));
    let pause = Change::Pause { note: None, resume_at: None };
    let holds: Vec<_> = work.running.iter().map(|claim| claim.hold).collect();
    let failed = Ending::Failed(Failure::transient("down"));
    let done = match number {
        0 => store.create_job(every("new", 3), now).await.map(drop),
        1 => store.amend_job(id, edit, None, now).await.map(drop),
        2 => store.amend_job(id, pause, None, now).await.map(drop),
        3 => store.delete_job(id, now).await,
        4 => store.fire_due(now, 9, None).await.map(drop),
        5 => store.run_now(id, None, now).await.map(drop),
        6 => store.claim(&worker("w"), terms(45), 9.into()).await.map(drop),
        7 => store.renew(&holds, terms(39)).await.map(drop),
        8 => {
            let ends = holds.iter().map(|hold| finish(*hold, failed.clone(), 45));
            store.finish(ends.collect(), now).await.map(drop)
        }
        9 => store.release(&holds, now).await,
        10 => store.reap(now, 9).await.map(drop),
        11 => store.cancel(work.waiting, CancelCause::User, now).await,
        12 => {
            let running = holds[0].execution;
            store.cancel(running, CancelCause::User, now).await
        }
        13 => store.delete_policy(policy().id, at(9)).await,
        14 => {
            let renamed = QuietHours { name: "other".into(), ..policy() };
            store.edit_policy(renamed, None, now).await.map(drop)
        }
        15 => store.save_checkpoint(&holds[0], vec![1, 2, 3]).await,
        16 => {
            let id = PolicyId::new(at(0), [2; 10]);
            let second = QuietHours { id, name: "second".into(), ..policy() };
            store.create_policy(second).await
        }
        17 => store.note_reconciliation(Reconciliation::begin(worker("w"), 0), now).await,
        _ => return None,
    };
    Some(done)
}

#[tokio::test]
async fn a_verb_whose_commit_fails_changes_nothing_and_can_be_repeated() {
    let mut number = 0;
    loop {
        let (mut bench, kv) = bench().await;
        let work = busy(&bench).await;
        let before = bench.answers().await;
        kv.fail_commits(1);
        let Some(failed) = verb(&*bench, &work, number).await else {
            break;
        };
        assert!(matches!(failed, Err(Error::Unavailable(_))), "verb {number}: {failed:?}");
        before.assert_same(&bench.answers().await);
        assert_eq!(verb(&*bench, &work, number).await, Some(Ok(())));
        let after = bench.compare_with_twin().await;
        assert_ne!(before, after, "verb {number} does something");
        bench.reopen().await;
        number += 1;
    }
    assert_eq!(number, 18);
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_seen_by_the_next_verb() {
    for number in 0..18 {
        let (bench, kv) = bench().await;
        let work = busy(&bench).await;
        let before = bench.answers().await;
        kv.fail_after_commits(1);
        let failed = verb(&*bench, &work, number).await.unwrap();
        assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
        let after = bench.compare_with_twin().await;
        assert_ne!(before, after, "verb {number} was done all the same");
    }
}

#[tokio::test]
async fn a_verb_that_cannot_read_changes_nothing_wherever_it_stops() {
    for number in 0..18 {
        // Each read that the verb makes fails once, until it gets through without meeting a fault.
        for reads in 1.. {
            let (bench, kv) = bench().await;
            let work = busy(&bench).await;
            let before = bench.answers().await;
            kv.fail_reads_after(reads);
            let done = verb(&*bench, &work, number).await.unwrap();
            kv.fail_reads_after(0);
            if done.is_ok() {
                break;
            }
            assert!(matches!(done, Err(Error::Unavailable(_))), "{done:?}");
            before.assert_same(&bench.answers().await);
            bench.compare_with_twin().await;
        }
    }
}

#[tokio::test]
async fn a_store_that_fails_over_and_over_recovers() {
    let (bench, kv) = bench().await;
    busy(&bench).await;
    let before = bench.answers().await;
    kv.fail_commits(3);
    for _ in 0..3 {
        assert!(bench.fire_due(at(20), 9, None).await.is_err());
    }
    // The index must be rebuilt by now; that may fail as well.
    kv.fail_reads(2);
    assert!(bench.stats().await.is_err());
    assert!(bench.fire_due(at(20), 9, None).await.is_err());
    before.assert_same(&bench.answers().await);
    assert_eq!(bench.fire(20).await.planned.len(), 3);
}

#[tokio::test]
async fn a_token_whose_claim_failed_is_never_good() {
    let (bench, kv) = bench().await;
    bench.create(once("a", 10)).await;
    bench.fire(10).await;
    kv.fail_after_commits(1);
    let unknown = bench.claim(&worker("w"), terms(10), 9.into()).await;
    assert!(unknown.is_err());
    assert_eq!(bench.take(11).await.len(), 0, "it may run somewhere");
    bench.reap(at(40), 9).await.unwrap();
    let claims = bench.take(41).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].execution.attempt, 2);
}

#[tokio::test]
async fn who_watches_hears_nothing_of_a_step_that_failed() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    let (bench, kv) = bench().await;
    let heard = Arc::new(AtomicU32::new(0));
    let count = heard.clone();
    bench.watch(Arc::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    kv.fail_commits(1);
    assert!(bench.create_job(every("a", 10), at(0)).await.is_err());
    assert_eq!(heard.load(Ordering::Relaxed), 0);
}
