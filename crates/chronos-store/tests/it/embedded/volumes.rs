//! Volumes of the past: wherever an execution is filed, the store answers as if there were one volume.

use chronos_core::execution::Failure;
use chronos_core::plan::Ending;
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::Claim;
use chronos_core::{Execution, JobSpec, Store};
use chronos_store::kv::MemoryKv;
use chronos_store::{EmbeddedStore, Retention};
use proptest::prelude::*;

use crate::answers::Answers;
use crate::bench::{at, every, finish, job_id, once, terms, worker};
use crate::shared_kv::SharedKv;

const JOBS: [&str; 3] = ["a", "b", "c"];

fn open(kv: &SharedKv<MemoryKv>, size: u64, most: Option<u32>) -> EmbeddedStore {
    let executions_per_job = most.map(|most| most.try_into().unwrap());
    let retention = Retention { executions_per_job, audit_events: None, ..Retention::default() };
    EmbeddedStore::with_volumes_of(size, kv.clone(), retention).unwrap()
}

fn memory() -> SharedKv<MemoryKv> {
    SharedKv::new(MemoryKv::new())
}

async fn create(store: &EmbeddedStore, name: &str) {
    let spec = JobSpec { overlap: OverlapPolicy::Concurrent, ..every(name, 10) };
    store.create_job(spec, at(0)).await.unwrap();
}

/// Fires what is due and takes all of it.
async fn take(store: &EmbeddedStore, second: i64) -> Vec<Claim> {
    store.fire_due(at(second), 100, None).await.unwrap();
    store.claim(&worker("w"), terms(second), 100.into()).await.unwrap().claims
}

async fn end(store: &EmbeddedStore, claims: &[Claim], ending: &Ending, second: i64) {
    let ends = claims.iter().map(|claim| finish(claim.hold, ending.clone(), second));
    for answer in store.finish(ends.collect(), at(second)).await.unwrap() {
        answer.unwrap();
    }
}

/// How many volumes hold past executions, and how many are on record.
fn volumes(kv: &SharedKv<MemoryKv>) -> (usize, usize) {
    let in_table = |table: u8| {
        let entries = kv.entries_about(&[table]).into_iter();
        entries.filter_map(move |(key, _)| (key[0] == table).then(|| key[1..7].to_vec()))
    };
    let mut holding: Vec<_> = in_table(6).collect();
    holding.dedup();
    (holding.len(), in_table(12).count())
}

/// One step of a history.
#[derive(Clone, Debug)]
enum Act {
    /// All jobs fire.
    Fire,
    /// Of what runs some ends, the oldest or the newest first.
    End { most: usize, newest: bool, fails: bool },
    /// A job is deleted and made anew, under the same id.
    Renew(usize),
    /// The store is opened again, with other volumes.
    Reopen(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Fire),
        6 => (1..5_usize, any::<bool>(), prop::bool::weighted(0.3))
            .prop_map(|(most, newest, fails)| Act::End { most, newest, fails }),
        1 => (0..JOBS.len()).prop_map(Act::Renew),
        1 => (1..4_u64).prop_map(Act::Reopen),
    ]
}

/// Lives through a history in volumes of a size, or of those that it asks for; gives what the store
/// answers after every step, and its engine.
async fn answers(
    history: &[Act],
    most: Option<u32>,
    size: Option<u64>,
) -> (Vec<Answers>, SharedKv<MemoryKv>) {
    let kv = memory();
    let mut store = open(&kv, size.unwrap_or(1), most);
    for name in JOBS {
        create(&store, name).await;
    }
    let (mut running, mut answers) = (Vec::new(), Vec::new());
    for (act, number) in history.iter().zip(1..) {
        let now = number * 10;
        match act {
            Act::Fire => running.extend(take(&store, now).await),
            Act::End { most, newest, fails } => {
                let count = running.len().min(*most);
                let from = if *newest { running.len() - count } else { 0 };
                let claims: Vec<Claim> = running.drain(from..from + count).collect();
                let failed = Ending::Failed(Failure::permanent("no"));
                end(&store, &claims, if *fails { &failed } else { &Ending::Success }, now).await;
            }
            Act::Renew(job) => {
                store.delete_job(job_id(JOBS[*job]), at(now)).await.unwrap();
                running.retain(|claim| claim.spec.id != job_id(JOBS[*job]));
                create(&store, JOBS[*job]).await;
            }
            Act::Reopen(other) => store = open(&kv, size.unwrap_or(*other), most),
        }
        answers.push(Answers::of(&store).await);
    }
    (answers, kv)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn a_store_answers_alike_in_volumes_of_any_size(
        history in prop::collection::vec(act(), 1..50),
        most in prop::option::of(1..4_u32),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (whole, _) = runtime.block_on(answers(&history, most, Some(u64::MAX)));
        let (parts, kv) = runtime.block_on(answers(&history, most, None));
        for (whole, part) in whole.iter().zip(&parts) {
            whole.assert_same(part);
        }
        let (holding, recorded) = volumes(&kv);
        prop_assert_eq!(holding, recorded, "every volume that holds something is on record, no other");
    }
}

#[tokio::test]
async fn pages_go_by_slots_and_not_by_the_order_in_which_runs_ended() {
    let kv = memory();
    let store = open(&kv, 2, None);
    create(&store, "a").await;
    let mut claims = Vec::new();
    for second in (10..=120).step_by(10) {
        claims.extend(take(&store, second).await);
    }
    // First every third, then the rest from the newest on.
    let (early, mut late): (Vec<_>, Vec<_>) =
        claims.into_iter().enumerate().partition(|(number, _)| number % 3 == 0);
    late.reverse();
    for (_, claim) in early.into_iter().chain(late) {
        end(&store, &[claim], &Ending::Success, 130).await;
    }
    assert!(volumes(&kv).0 > 1);
    let slots = |rows: &[Execution]| rows.iter().map(|row| row.slot).collect::<Vec<_>>();
    let expected: Vec<_> = (1..=12).rev().map(|number| at(number * 10)).collect();
    for limit in 1..=13 {
        let (mut paged, mut before) = (Vec::new(), None);
        for _ in 0..=12 {
            let page = store.executions(job_id("a"), before, limit).await.unwrap();
            assert!(page.len() <= limit);
            before = page.last().map(|last| last.id).or(before);
            paged.extend(page);
        }
        assert_eq!(slots(&paged), expected, "in pages of {limit}");
    }
}

#[tokio::test]
async fn a_page_is_read_from_the_volumes_of_its_job_alone() {
    let kv = memory();
    let store = open(&kv, 1, None);
    store.create_job(once("a", 10), at(0)).await.unwrap();
    create(&store, "b").await;
    for second in (10..=500).step_by(10) {
        end(&store, &take(&store, second).await, &Ending::Success, second).await;
    }
    assert!(volumes(&kv).0 > 40);
    let opened = open(&kv, 1, None);
    // One read for where the job stands, and one for its volume.
    kv.fail_reads_after(3);
    let page = opened.executions(job_id("a"), None, 9).await.unwrap();
    assert_eq!(page.len(), 1);
    let run = page[0].id;
    kv.fail_reads_after(3);
    // One read for its job, and one for itself.
    assert_eq!(opened.execution(run).await.unwrap().slot, at(10));
    kv.fail_reads_after(0);
    let first = opened.executions(job_id("b"), None, 99).await.unwrap().pop().unwrap();
    kv.fail_reads_after(3);
    // A page before the oldest is looked for in its volume alone.
    let before = opened.executions(job_id("b"), Some(first.id), 9).await;
    assert_eq!(before, Ok(Vec::new()));
    kv.fail_reads_after(0);
}

#[tokio::test]
async fn the_past_of_a_deleted_job_is_found_in_every_volume() {
    let kv = memory();
    let store = open(&kv, 1, None);
    create(&store, "a").await;
    for second in [10, 20, 30] {
        end(&store, &take(&store, second).await, &Ending::Success, second).await;
    }
    assert_eq!(volumes(&kv), (3, 3));
    let past = store.executions(job_id("a"), None, 9).await.unwrap();
    assert_eq!(past.len(), 3);
    store.delete_job(job_id("a"), at(31)).await.unwrap();
    // Opened again, the store knows nothing of it but what is on record.
    for store in [store, open(&kv, 1, None)] {
        assert_eq!(store.executions(job_id("a"), None, 9).await.as_ref(), Ok(&past));
        for run in &past {
            assert_eq!(store.execution(run.id).await.as_ref(), Ok(run));
        }
    }
    // Whoever has its id now has its past.
    let store = open(&kv, 1, None);
    create(&store, "a").await;
    assert_eq!(store.executions(job_id("a"), None, 9).await, Ok(past));
}

#[tokio::test]
async fn a_bounded_past_leaves_no_volumes_behind() {
    let kv = memory();
    let store = open(&kv, 2, Some(8));
    for name in JOBS {
        create(&store, name).await;
    }
    for second in (10..=2_000).step_by(10) {
        end(&store, &take(&store, second).await, &Ending::Success, second).await;
    }
    let (holding, recorded) = volumes(&kv);
    assert_eq!(holding, recorded);
    assert!((4..=27).contains(&holding), "{holding}");
    for name in JOBS {
        store.delete_job(job_id(name), at(2_001)).await.unwrap();
    }
    assert_eq!(volumes(&kv), (0, 0));
}
