//! Redriving: slots that failed for good are tried again, each once and in their turn.

use chronos_core::JobSpec;
use chronos_core::execution::Failure;
use chronos_core::plan::Ending;
use chronos_core::policy::retry;
use chronos_core::store::Error;

use crate::bench::{Bench, at, every, job_id, once};

fn refused() -> Ending {
    Ending::Failed(Failure::permanent("no"))
}

pub(crate) async fn a_dead_letter_is_tried_again_at_its_slot(bench: &mut Bench) {
    bench.create(JobSpec { retry: retry::Policy::up_to(1), ..once("a", 10) }).await;
    let claim = bench.start(10).await;
    let dead = bench.end(&claim, refused(), 11).await;
    assert_eq!(bench.dead_letters(None, 9).await.unwrap().len(), 1);
    let again = bench.redrive(dead.id, at(20)).await.unwrap();
    assert_eq!((again.slot, again.attempt, again.retry), (at(10), 2, 0));
    assert_eq!((again.status(), again.run_at), ("QUEUED", at(20)));
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![]));
    bench.reopen().await;
    let claim = bench.take(20).await.remove(0);
    assert_eq!(claim.execution.id, again.id);
    // All retries are before it again.
    bench.end(&claim, Ending::Failed(Failure::transient("down")), 21).await;
    let claim = bench.take(60).await.remove(0);
    let dead = bench.end(&claim, refused(), 61).await;
    assert_eq!(dead.attempt, 3);
    assert_eq!(bench.dead_letters(None, 9).await, Ok(vec![dead]));
    assert!(bench.decisions().await.contains(&"execution.redriven"));
}

pub(crate) async fn a_dead_letter_is_redriven_once(bench: &Bench) {
    bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    let dead = bench.end(&claim, refused(), 11).await;
    bench.redrive(dead.id, at(20)).await.unwrap();
    let before = bench.answers().await;
    assert_eq!(bench.redrive(dead.id, at(21)).await, Err(Error::NotDeadLetter(dead.id)));
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn redriven_slots_wait_behind_each_other(bench: &mut Bench) {
    bench.create(every("a", 10)).await;
    let mut dead = Vec::new();
    for second in [10, 20, 30] {
        let claim = bench.start(second).await;
        dead.push(bench.end(&claim, refused(), second + 1).await.id);
    }
    for id in &dead {
        bench.redrive(*id, at(35)).await.unwrap();
    }
    bench.reopen().await;
    for slot in [10, 20, 30] {
        let claims = bench.take(35).await;
        assert_eq!(claims.len(), 1, "one at a time");
        assert_eq!(claims[0].execution.slot, at(slot));
        bench.end(&claims[0], Ending::Success, 36).await;
    }
    assert_eq!(bench.stats().await.unwrap().queued, 0);
}

pub(crate) async fn what_is_not_dead_is_not_redriven(bench: &Bench) {
    bench.create(every("a", 10)).await;
    let claim = bench.start(10).await;
    let id = claim.hold.execution;
    assert_eq!(bench.redrive(id, at(10)).await, Err(Error::NotDeadLetter(id)), "it runs");
    bench.end(&claim, Ending::Success, 11).await;
    assert_eq!(bench.redrive(id, at(12)).await, Err(Error::NotDeadLetter(id)), "it succeeded");
    let claim = bench.start(20).await;
    let dead = bench.end(&claim, refused(), 21).await;
    bench.delete_job(job_id("a"), at(22)).await.unwrap();
    assert_eq!(bench.redrive(dead.id, at(23)).await, Err(Error::NoSuchJob(job_id("a"))));
    let ghost = chronos_core::ExecutionId::from_bytes([7; 16]);
    assert_eq!(bench.redrive(ghost, at(23)).await, Err(Error::NoSuchExecution(ghost)));
}
