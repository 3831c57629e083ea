//! Claiming: each execution goes to one worker at a time, who holds it by a token.

use std::collections::BTreeSet;
use std::time::Duration;

use chronos_core::JobSpec;
use chronos_core::execution::Token;
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{OverlapPolicy, Priority};
use chronos_core::store::{Error, Hold, Renewal};

use crate::bench::{Bench, LEASE, at, every, once, terms, worker};

pub(crate) async fn claims_come_in_the_order_of_their_time_up_to_the_limit(bench: &Bench) {
    for (name, slot) in [("a", 30), ("b", 10), ("c", 20)] {
        bench.create(once(name, slot)).await;
    }
    // Each fires at its own time, because a late one would be caught up at the time of the step.
    for second in [10, 20, 30] {
        bench.fire(second).await;
    }
    let claimed = bench.claim(&worker("w"), terms(40), 2.into()).await.unwrap();
    let names: Vec<_> = claimed.claims.iter().map(|claim| &*claim.spec.name).collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(claimed.next, Some(at(30)), "there is more to do at once");
    let claimed = bench.claim(&worker("w"), terms(40), 2.into()).await.unwrap();
    assert_eq!(&*claimed.claims[0].spec.name, "a");
    assert_eq!((claimed.claims.len(), claimed.next), (1, None));
}

pub(crate) async fn the_urgent_go_before_those_that_have_waited_longer(bench: &Bench) {
    let jobs = [("a", 10, 0), ("b", 20, 9), ("c", 20, 5), ("d", 10, 5), ("e", 50, 9)];
    for (name, slot, level) in jobs {
        let priority = Priority::new(level).unwrap();
        bench.create(JobSpec { priority, ..once(name, slot) }).await;
    }
    for second in [10, 20] {
        bench.fire(second).await;
    }
    let mut names = Vec::new();
    for _ in 0..4 {
        let claimed = bench.claim(&worker("w"), terms(40), 1.into()).await.unwrap();
        names.extend(claimed.claims.iter().map(|claim| claim.spec.name.to_string()));
    }
    assert_eq!(names, ["b", "d", "c", "a"]);
    bench.fire(50).await;
    let claimed = bench.claim(&worker("w"), terms(49), 1.into()).await.unwrap();
    assert_eq!((claimed.claims.len(), claimed.next), (0, Some(at(50))), "urgent, and not yet due");
}

pub(crate) async fn a_claim_says_what_to_run_for_whom_and_until_when(bench: &Bench) {
    let job = bench
        .create(JobSpec { max_execution_time: Some(Duration::from_secs(7)), ..every("a", 10) })
        .await;
    bench.fire(10).await;
    let claimed = bench.claim(&worker("w7"), terms(12), 9.into()).await.unwrap();
    let claim = &claimed.claims[0];
    assert_eq!(claim.spec, job.spec);
    assert_eq!(claim.hold.execution, claim.execution.id);
    let running = claim.execution.running().unwrap();
    assert_eq!(running.lease.token, claim.hold.token);
    assert_eq!(running.lease.worker, worker("w7"));
    assert_eq!(running.lease.expires_at, at(12 + LEASE));
    assert_eq!((running.started_at, running.heartbeat_at), (at(12), at(12)));
    assert_eq!((running.deadline, running.cancel), (Some(at(19)), None));
    assert_eq!(bench.execution(claim.execution.id).await.as_ref(), Ok(&claim.execution));
}

pub(crate) async fn what_waits_is_run_by_the_spec_in_force(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    bench.fire(10).await;
    let edited = JobSpec { max_execution_time: Some(Duration::from_secs(7)), ..every("a", 10) };
    let edit = Change::Edit(Box::new(edited));
    let amended = bench.amend_job(job.spec.id, edit, None, at(11)).await.unwrap();
    let claimed = bench.claim(&worker("w"), terms(12), 9.into()).await.unwrap();
    let claim = &claimed.claims[0];
    assert_eq!(claim.spec, amended.spec);
    assert_eq!(claim.execution.running().unwrap().deadline, Some(at(19)));
    // What is changed while it runs counts from the next run on.
    let edit = Change::Edit(Box::new(every("a", 10)));
    bench.amend_job(job.spec.id, edit, None, at(13)).await.unwrap();
    bench.end(claim, Ending::Success, 14).await;
    assert_eq!(bench.job(job.spec.id).await.unwrap().standing.tally.succeeded, 1);
}

pub(crate) async fn nothing_is_claimed_before_its_time(bench: &Bench) {
    let job = bench.create(JobSpec { jitter: Duration::from_mins(1), ..every("a", 100) }).await;
    bench.fire(100).await;
    let run_at = bench.row(job.spec.id).await.run_at;
    let mut early = terms(100);
    early.now = run_at.before(Duration::from_micros(1));
    let claimed = bench.claim(&worker("w"), early, 9.into()).await.unwrap();
    assert_eq!((claimed.claims.len(), claimed.next), (0, Some(run_at)));
    early.now = run_at;
    let claimed = bench.claim(&worker("w"), early, 9.into()).await.unwrap();
    assert_eq!((claimed.claims.len(), claimed.next), (1, None));
}

pub(crate) async fn what_is_held_is_claimed_only_after_the_run_before_it(bench: &mut Bench) {
    let job = bench.create(JobSpec { overlap: OverlapPolicy::QUEUE, ..every("a", 10) }).await;
    let first = bench.start(10).await;
    bench.fire(20).await;
    let held = bench.rows(job.spec.id).await.remove(0);
    assert!(held.is_held());
    let claimed = bench.claim(&worker("w"), terms(25), 9.into()).await.unwrap();
    assert_eq!((claimed.claims.len(), claimed.next), (0, None));
    bench.reopen().await;
    assert_eq!(bench.take(26).await.len(), 0);
    bench.end(&first, Ending::Success, 27).await;
    let claims = bench.take(27).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].execution.id, held.id);
}

pub(crate) async fn tokens_grow_over_claims_and_restarts(bench: &mut Bench) {
    bench.create(JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) }).await;
    let mut last = Token(0);
    for round in 1..6 {
        bench.fire(round * 10).await;
        for claim in bench.take(round * 10).await {
            assert!(claim.hold.token > last);
            last = claim.hold.token;
            if round % 2 == 0 {
                bench.end(&claim, Ending::Success, round * 10 + 1).await;
            } else {
                bench.release(&[claim.hold], at(round * 10)).await.unwrap();
            }
        }
        bench.reopen().await;
    }
    assert!(last >= Token(5));
}

pub(crate) async fn two_workers_never_get_the_same_execution(bench: &Bench) {
    for number in 0..30 {
        bench.create(once(&format!("j{number:02}"), 10)).await;
    }
    bench.fire(10).await;
    let take = |name: &'static str| {
        let store = bench.handle();
        async move {
            let mut held = Vec::new();
            for _ in 0..10 {
                let claimed = store.claim(&worker(name), terms(10), 4.into()).await.unwrap();
                tokio::task::yield_now().await;
                held.extend(claimed.claims.iter().map(|claim| claim.hold));
            }
            held
        }
    };
    let (one, other) = tokio::join!(tokio::spawn(take("w1")), tokio::spawn(take("w2")));
    let held = [one.unwrap(), other.unwrap()].concat();
    let executions: BTreeSet<_> = held.iter().map(|hold| hold.execution).collect();
    let tokens: BTreeSet<_> = held.iter().map(|hold| hold.token).collect();
    assert_eq!((held.len(), executions.len(), tokens.len()), (30, 30, 30));
}

pub(crate) async fn renewing_extends_the_lease(bench: &mut Bench) {
    bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    let renewals = bench.renew(&[claim.hold], terms(35)).await;
    assert_eq!(renewals, Ok(vec![Renewal::Held]));
    let row = bench.execution(claim.hold.execution).await.unwrap();
    let running = row.running().unwrap();
    assert_eq!(running.heartbeat_at, at(35));
    assert_eq!(running.lease.expires_at, at(35 + LEASE));
    assert_eq!(running.started_at, at(10));
    assert_eq!(running.lease.token, claim.hold.token);
    bench.reopen().await;
    let reaped = bench.reap(at(64), 9).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.next), (0, Some(at(65))));
}

pub(crate) async fn renewals_are_answered_one_by_one_in_order(bench: &Bench) {
    for name in ["a", "b", "c"] {
        bench.create(once(name, 10)).await;
    }
    bench.fire(10).await;
    let holds: Vec<_> = bench.take(10).await.iter().map(|claim| claim.hold).collect();
    bench.try_end(holds[1], Ending::Success, 11).await.unwrap();
    let cause = chronos_core::execution::CancelCause::User;
    bench.cancel(holds[2].execution, cause, at(12)).await.unwrap();
    let renewals = bench.renew(&holds, terms(13)).await;
    let expected = [Renewal::Held, Renewal::Lost, Renewal::CancelRequested(cause)];
    assert_eq!(renewals.unwrap(), expected);
    assert_eq!(bench.renew(&[], terms(13)).await, Ok(vec![]));
}

/// Every write of a worker under a token that is not the current one, which must change nothing.
async fn assert_powerless(bench: &Bench, hold: Hold, second: i64) {
    let before = bench.answers().await;
    let lost = Error::LeaseLost(hold.execution);
    let renewals = bench.renew(&[hold], terms(second)).await;
    assert_eq!(renewals, Ok(vec![Renewal::Lost]));
    let ended = bench.try_end(hold, Ending::Success, second).await;
    assert_eq!(ended, Err(lost.clone()));
    bench.release(&[hold], at(second)).await.unwrap();
    let saved = bench.save_checkpoint(&hold, b"late".to_vec()).await;
    assert_eq!(saved, Err(lost));
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn an_old_token_is_powerless(bench: &mut Bench) {
    bench.create(once("a", 10)).await;
    let released = bench.start(10).await;
    bench.release(&[released.hold], at(11)).await.unwrap();
    assert_powerless(bench, released.hold, 12).await;

    let lost = bench.start(13).await;
    assert_eq!(lost.hold.execution, released.hold.execution);
    assert_powerless(bench, released.hold, 14).await;

    bench.reap(at(13 + LEASE), 9).await.unwrap();
    assert_powerless(bench, lost.hold, 50).await;
    let current = bench.start(51).await;
    assert_ne!(current.hold.execution, lost.hold.execution);
    for old in [released.hold, lost.hold] {
        assert_powerless(bench, old, 52).await;
    }
    bench.reopen().await;
    for old in [released.hold, lost.hold] {
        assert_powerless(bench, old, 53).await;
    }
    let forged = Hold { token: Token(current.hold.token.0 + 1), ..current.hold };
    assert_powerless(bench, forged, 54).await;
    bench.end(&current, Ending::Success, 55).await;
    assert_powerless(bench, current.hold, 56).await;
}

pub(crate) async fn what_is_handed_back_is_queued_as_before(bench: &Bench) {
    bench.create(every("a", 10)).await;
    bench.fire(10).await;
    let before = bench.row(crate::bench::job_id("a")).await;
    let audit = bench.decisions().await;
    let claim = bench.take(11).await.remove(0);
    bench.release(&[claim.hold], at(12)).await.unwrap();
    assert_eq!(bench.row(before.job).await, before);
    assert_eq!(bench.decisions().await, audit, "nothing was used up");
    let claimed = bench.claim(&worker("w2"), terms(13), 9.into()).await.unwrap();
    assert_eq!(claimed.claims[0].execution.id, before.id);
}
