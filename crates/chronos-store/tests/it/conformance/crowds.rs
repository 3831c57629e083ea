//! The crowd: what an owner has beyond its first jobs waits behind the little that others have.

use chronos_core::JobSpec;
use chronos_core::policy::Priority;
use chronos_core::store::{Claim, Openings, Taker};

use crate::bench::{Bench, at, once, terms, worker};

/// So many jobs an owner has who is a crowd.
const MANY: usize = 300;
/// So many of them go before the crowd.
const FEW: usize = 64;

/// Many jobs of an owner, all due at 10 s and as urgent as can be.
async fn make_many(bench: &Bench, owner: &str) {
    let spec = |number: usize| JobSpec {
        owner: owner.into(),
        priority: Priority::HIGHEST,
        ..once(&format!("a{number:03}"), 10)
    };
    // One by one: those that are made at the same instant may not know of each other.
    for number in 0..MANY {
        bench.create(spec(number)).await;
    }
}

/// Ann's many jobs, and then one of bob's that is due with them and can wait.
async fn make_a_crowd(bench: &Bench) {
    make_many(bench, "ann").await;
    let bobs = JobSpec { owner: "bob".into(), priority: Priority::LOWEST, ..once("bob", 10) };
    bench.create(bobs).await;
}

async fn fire_all(bench: &Bench) {
    while !bench.fire_due(at(10), 500, None).await.unwrap().planned.is_empty() {}
}

async fn claim(bench: &Bench, any: usize, crowd: usize) -> Vec<Claim> {
    let openings = Openings { any, crowd };
    bench.claim(&worker("w"), terms(10), openings).await.unwrap().claims
}

fn of_the_crowd(claims: &[Claim]) -> usize {
    claims.iter().filter(|claim| claim.execution.rank.is_crowd()).count()
}

fn bobs(claims: &[Claim]) -> bool {
    claims.iter().any(|claim| &*claim.spec.owner == "bob")
}

pub(crate) async fn a_crowd_keeps_nobody_elses_job_from_firing(bench: &Bench) {
    make_a_crowd(bench).await;
    // The crowd has every other turn at most.
    let fired = bench.fire_due(at(10), 2 * (FEW + 1), None).await.unwrap();
    assert!(fired.planned.iter().any(|planned| &*planned.spec.owner == "bob"));
    assert_eq!(fired.next, Some(at(10)));
    fire_all(bench).await;
    assert_eq!(bench.fire(10).await.next, None, "the crowd had its turn");
    assert_eq!(bench.stats().await.unwrap().queued, MANY as u64 + 1);
}

pub(crate) async fn a_crowd_fires_beside_others_that_are_due(bench: &Bench) {
    make_a_crowd(bench).await;
    let mut crowd = 0;
    // The first step may not know yet that there is a crowd.
    for _ in 0..2 {
        let fired = bench.fire_due(at(10), 8, None).await.unwrap();
        let runs = fired.planned.iter().flat_map(|planned| &planned.plan.executions);
        crowd += runs.filter(|run| run.rank.is_crowd()).count();
    }
    assert!((4..=8).contains(&crowd), "{crowd} of the crowd have fired");
}

pub(crate) async fn a_crowd_is_claimed_after_all_others(bench: &Bench) {
    make_a_crowd(bench).await;
    fire_all(bench).await;
    let claims = claim(bench, FEW + 1, FEW + 1).await;
    assert_eq!((claims.len(), of_the_crowd(&claims)), (FEW + 1, 0));
    assert!(bobs(&claims));
    assert_eq!(claim(bench, 500, 500).await.len(), MANY - FEW, "and then it is");
}

pub(crate) async fn a_crowd_has_its_turn_whatever_there_is(bench: &Bench) {
    make_a_crowd(bench).await;
    fire_all(bench).await;
    let mut crowd = 0;
    for _ in 0..16 {
        let claims = claim(bench, 2, 2).await;
        assert_eq!(claims.len(), 2);
        crowd += of_the_crowd(&claims);
    }
    assert_eq!(crowd, 8, "a claim in four is the crowd's");
}

pub(crate) async fn a_crowd_is_claimed_where_there_is_an_opening_for_it(bench: &Bench) {
    make_a_crowd(bench).await;
    fire_all(bench).await;
    let claims = claim(bench, 100, 5).await;
    assert_eq!((claims.len(), of_the_crowd(&claims)), (FEW + 1 + 5, 5));
    let nothing = Openings { any: 9, crowd: 0 };
    let claimed = bench.claim(&worker("w"), terms(10), nothing).await.unwrap();
    assert_eq!((claimed.claims.len(), claimed.next), (0, None), "whoever makes room knows");
    let claimed = bench.claim(&worker("w"), terms(10), Openings::NONE).await.unwrap();
    assert_eq!(claimed.next, Some(at(10)));
    let claims = claim(bench, 9, 2).await;
    assert_eq!((claims.len(), of_the_crowd(&claims)), (2, 2));
}

pub(crate) async fn a_crowd_is_taken_where_there_is_an_opening_for_it(bench: &Bench) {
    make_a_crowd(bench).await;
    let openings = Openings { any: 500, crowd: 3 };
    let taker = Taker { worker: worker("w"), lease: terms(10).lease, openings };
    let fired = bench.fire_due(at(10), 500, Some(&taker)).await.unwrap();
    assert_eq!(of_the_crowd(&fired.claims), 3);
    assert_eq!(fired.claims.len(), FEW + 1 + 3, "nobody waits for those of the crowd who wait");
    assert!(bobs(&fired.claims));
}

pub(crate) async fn what_belongs_to_nobody_is_no_crowd(bench: &Bench) {
    make_many(bench, "").await;
    fire_all(bench).await;
    let claims = claim(bench, 500, 0).await;
    assert_eq!((claims.len(), of_the_crowd(&claims)), (MANY, 0));
}
