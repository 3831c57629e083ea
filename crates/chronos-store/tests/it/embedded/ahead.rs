//! Reading ahead: in a large store, jobs that are due next are fired without a read.

use std::time::Duration;

use chronos_core::plan::Ending;
use chronos_core::policy::CatchUpPolicy;
use chronos_core::store::{Claim, JobFilter, Taker};
use chronos_core::{JobSpec, Schedule};
use chronos_store::kv::MemoryKv;

use super::bench;
use crate::bench::{Bench, LEASE, at, finish, job_id, worker};
use crate::shared_kv::SharedKv;

/// More jobs than keep their desks.
const JOBS: i64 = 65_600;
/// The distance between the slots of each.
const PERIOD: i64 = 1_000;

/// A store whose jobs are due one after the other, some in each second.
async fn crowd() -> (Bench, SharedKv<MemoryKv>) {
    let (bench, kv) = bench().await;
    for number in 0..JOBS {
        let name = format!("j{number:05}");
        let every = Duration::from_secs(PERIOD.unsigned_abs());
        let schedule = Schedule::interval(every, at(number % PERIOD - PERIOD)).unwrap();
        let mut spec = JobSpec::new(job_id(&name), &name, schedule, at(0));
        spec.catch_up = CatchUpPolicy::RunOnce;
        // However many are late, they are on time, and not caught up at a pace.
        spec.misfire_grace = every;
        bench.create(spec).await;
    }
    (bench, kv)
}

/// Fires everything that is due then, for one worker that takes it all.
async fn fire_all(bench: &Bench, second: i64) -> Vec<Claim> {
    let lease = Duration::from_secs(LEASE.unsigned_abs());
    let taker = Taker { worker: worker("w1"), lease, openings: usize::MAX.into() };
    let mut claims = Vec::new();
    loop {
        let fired = bench.fire_due(at(second), 1_000, Some(&taker)).await.unwrap();
        claims.extend(fired.claims);
        if fired.next.is_none_or(|next| next > at(second)) {
            return claims;
        }
    }
}

async fn end_all(bench: &Bench, claims: Vec<Claim>, second: i64) {
    let ends = claims.iter().map(|claim| finish(claim.hold, Ending::Success, second));
    for answer in bench.finish(ends.collect(), at(second)).await.unwrap() {
        answer.unwrap();
    }
}

#[tokio::test]
async fn at_a_steady_rate_jobs_are_read_before_they_are_due() {
    let (bench, kv) = crowd().await;
    let first = fire_all(&bench, 1).await;
    let count = first.len();
    assert!(count > 64, "one go is not enough: {count}");
    end_all(&bench, first, 1).await;
    kv.fail_reads(u32::MAX);
    assert_eq!(fire_all(&bench, 2).await.len(), count);
}

#[tokio::test]
async fn what_cannot_be_read_ahead_is_read_when_it_is_due() {
    let (bench, kv) = crowd().await;
    let first = fire_all(&bench, 1).await;
    let count = first.len();
    kv.fail_reads(u32::MAX);
    end_all(&bench, first, 1).await;
    kv.fail_reads(0);
    assert_eq!(fire_all(&bench, 2).await.len(), count);
    bench.compare_with_twin().await;
}

#[tokio::test]
async fn what_was_read_ahead_is_kept_when_desks_are_cleared() {
    let (bench, kv) = crowd().await;
    let everyone = fire_all(&bench, PERIOD).await;
    assert_eq!(everyone.len(), usize::try_from(JOBS).unwrap());
    end_all(&bench, everyone, PERIOD).await;
    kv.fail_reads(u32::MAX);
    assert!(!fire_all(&bench, PERIOD + 1).await.is_empty());
}

#[tokio::test]
async fn jobs_are_found_by_their_next_slot_after_their_desks_are_cleared() {
    let (bench, _) = crowd().await;
    let everyone = fire_all(&bench, PERIOD).await;
    end_all(&bench, everyone, PERIOD).await;
    // Steps clear what are too many desks, a few at a time, and pass over those due next.
    for _ in 0..4 {
        fire_all(&bench, PERIOD).await;
    }
    let moved_on = JobFilter { next_from: Some(at(PERIOD + 1)), ..JobFilter::default() };
    let (mut found, mut after) = (0, None);
    loop {
        let page = bench.find_jobs(&moved_on, after, 10_000).await.unwrap();
        found += page.jobs.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, usize::try_from(JOBS).unwrap());
}
