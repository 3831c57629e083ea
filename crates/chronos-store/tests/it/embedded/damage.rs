//! Damaged records: what cannot be read is set aside, and everything else goes on.

use chronos_core::audit::Decision;
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::QuietHours;
use chronos_core::policy::quiet_hours::{WeekdaySet, Window};
use chronos_core::schedule::Zone;
use chronos_core::store::Error;
use chronos_core::{JobId, JobSpec, PolicyId, Store};
use chronos_store::kv::MemoryKv;
use chronos_store::{EmbeddedStore, Retention};

use super::bench;
use crate::bench::{Bench, at, every, finish, job_id, once};
use crate::shared_kv::SharedKv;

/// Jobs "a", "bad" and "c", all with a run at 10 s, in a store that has read none of them yet.
async fn three_jobs() -> (Bench, SharedKv<MemoryKv>) {
    let (bench, kv) = bench().await;
    for name in ["a", "bad", "c"] {
        bench.create(every(name, 10)).await;
    }
    (Bench::new(kv.clone()).await, kv)
}

/// Spoils the records filed under the job alone: what was asked for, and where it stands.
fn damage(kv: &SharedKv<MemoryKv>, job: JobId, which: usize) {
    let records = kv.entries_about(job.as_bytes());
    let own: Vec<_> = records.iter().filter(|(key, _)| key.len() == 17).collect();
    assert!(own.len() >= 2, "a spec and a standing");
    kv.overwrite(&own[which].0, &[255, 255]);
}

fn names(jobs: &[chronos_core::Job]) -> String {
    let names = jobs.iter().map(|job| &*job.spec.name);
    names.collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn an_unreadable_job_is_set_aside_and_the_others_fire() {
    for which in [0, 1] {
        let (bench, kv) = three_jobs().await;
        damage(&kv, job_id("bad"), which);
        // The store that has the job in its index, and one that finds it damaged at its start.
        let fresh = EmbeddedStore::open(kv.clone(), Retention::default()).unwrap();
        let opened = fresh.fire_due(at(9), 9, None).await.unwrap();
        assert_eq!(opened.next, Some(at(10)));
        let fired = bench.fire(10).await;
        assert_eq!(fired.planned.len(), 2);
        assert_eq!(fired.unreadable.len(), 1);
        assert_eq!(fired.unreadable[0].0, job_id("bad"));
        assert!(matches!(fired.unreadable[0].1, Error::Corrupt(_)));
        let fired = bench.fire(20).await;
        assert_eq!((fired.planned.len(), fired.unreadable.len()), (2, 0));
        assert_eq!(bench.take(20).await.len(), 2);
        let asked = bench.job(job_id("bad")).await;
        assert!(matches!(asked, Err(Error::Corrupt(_))), "{asked:?}");
        let change = bench.amend_job(job_id("bad"), Change::Resume, None, at(21));
        assert!(matches!(change.await, Err(Error::Corrupt(_))));
    }
}

#[tokio::test]
async fn a_list_goes_on_past_an_unreadable_job() {
    for which in [0, 1] {
        let (_, kv) = three_jobs().await;
        damage(&kv, job_id("bad"), which);
        let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
        assert_eq!(names(&store.jobs(None, 9).await.unwrap()), "ac");
        assert_eq!(names(&store.jobs(None, 2).await.unwrap()), "ac");
        assert_eq!(names(&store.jobs(None, 1).await.unwrap()), "a");
        let rest = store.jobs(Some(job_id("a")), 1).await.unwrap();
        assert_eq!(names(&rest), "c");
    }
}

#[tokio::test]
async fn an_unreadable_job_does_not_keep_the_work_of_others_from_being_claimed() {
    let (bench, kv) = three_jobs().await;
    bench.fire(10).await;
    damage(&kv, job_id("bad"), 0);
    let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
    let (w, t) = (crate::bench::worker("w"), crate::bench::terms(10));
    let mut names = Vec::new();
    for _ in 0..2 {
        let claimed = store.claim(&w, t, 1.into()).await.unwrap();
        names.extend(claimed.claims.iter().map(|claim| claim.spec.name.clone()));
    }
    names.sort();
    assert_eq!(names, ["a".into(), "c".into()]);
    let claimed = store.claim(&w, t, 1.into()).await.unwrap();
    assert_eq!((claimed.claims.len(), claimed.next), (0, None));
}

#[tokio::test]
async fn an_unreadable_job_does_not_keep_the_ends_of_others_from_being_recorded() {
    for which in [0, 1] {
        let (bench, kv) = three_jobs().await;
        bench.fire(10).await;
        let claims = bench.take(10).await;
        damage(&kv, job_id("bad"), which);
        let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
        let ends = claims.iter().map(|claim| finish(claim.hold, Ending::Success, 11));
        let answers = store.finish(ends.collect(), at(11)).await.unwrap();
        for (claim, answer) in claims.iter().zip(answers) {
            if claim.spec.id != job_id("bad") {
                assert_eq!(answer.unwrap().status(), "SUCCESS");
                continue;
            }
            // Where the job stands is also where its run is kept: without it nobody holds a lease.
            let expected = matches!(
                (which, &answer),
                (0, Err(Error::Corrupt(_))) | (1, Err(Error::LeaseLost(_)))
            );
            assert!(expected, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn an_unreadable_job_does_not_keep_the_losses_of_others_from_being_found() {
    let (bench, kv) = three_jobs().await;
    bench.fire(10).await;
    bench.take(10).await;
    damage(&kv, job_id("bad"), 1);
    let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
    let mut ended = 0;
    for _ in 0..3 {
        let reaped = store.reap(at(40), 1).await.unwrap();
        ended += reaped.ended.len();
    }
    assert_eq!(ended, 2);
    let (w, t) = (crate::bench::worker("w"), crate::bench::terms(40));
    assert_eq!(store.claim(&w, t, 9.into()).await.unwrap().claims.len(), 2);
}

#[tokio::test]
async fn a_mended_record_is_read_again_after_the_next_start() {
    let (mut bench, kv) = three_jobs().await;
    let before = kv.entries_about(job_id("bad").as_bytes());
    damage(&kv, job_id("bad"), 1);
    assert_eq!(bench.fire(10).await.unreadable.len(), 1);
    for (key, value) in before {
        kv.overwrite(&key, &value);
    }
    bench = Bench::new(kv).await;
    assert_eq!(bench.fire(10).await.planned.len(), 1);
    drop(bench);
}

#[tokio::test]
async fn a_record_of_a_newer_program_is_refused_in_words() {
    let (bench, kv) = bench().await;
    bench.create(once("a", 10)).await;
    for (key, mut value) in kv.entries_about(job_id("a").as_bytes()) {
        if let Some(version) = value.first_mut() {
            *version = 9;
        }
        kv.overwrite(&key, &value);
    }
    let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
    let error = store.job(job_id("a")).await.unwrap_err().to_string();
    assert!(error.contains("version 9"), "{error}");
    let other = JobSpec { id: job_id("b"), ..every("b", 10) };
    bench.create(other).await;
}

#[tokio::test]
async fn an_unreadable_policy_holds_nothing_back_and_its_jobs_say_so() {
    let (bench, kv) = bench().await;
    let policy = policy();
    bench.create_policy(policy.clone()).await.unwrap();
    let spec = JobSpec { quiet_hours: Some(policy.id), ..every("a", 10) };
    let job = bench.create(spec).await.spec.id;
    let records = kv.entries_about(policy.id.as_bytes());
    let own = records.iter().find(|(key, _)| key.len() == 17).expect("the policy's record");
    kv.overwrite(&own.0, &[255, 255]);
    let store = EmbeddedStore::open(kv, Retention::default()).unwrap();
    let fired = store.fire_due(at(10), 9, None).await.unwrap();
    let decisions = &fired.planned[0].plan.decisions;
    assert_eq!(decisions[0], Decision::PolicyMissing { policy: policy.id });
    assert!(fired.planned[0].plan.executions[0].is_queued());
    let told = store.audit(0, 9).await.unwrap();
    assert!(told.iter().any(|event| event.decision.kind() == "schedule.policy_missing"));
    assert!(matches!(store.policy(policy.id).await, Err(Error::Corrupt(_))));
    assert_eq!(store.policies(None, 9).await, Ok(vec![]));
    assert!(matches!(store.delete_policy(policy.id, at(9)).await, Err(Error::PolicyInUse(_))));
    let change = Change::Edit(Box::new(every("a", 10)));
    store.amend_job(job, change, None, at(11)).await.unwrap();
    store.delete_policy(policy.id, at(9)).await.unwrap();
}

/// Quiet at all times.
fn policy() -> QuietHours {
    let window = Window::new(WeekdaySet::EVERY_DAY, "00:00", "24:00").unwrap();
    let id = PolicyId::new(at(0), [1; 10]);
    QuietHours { windows: vec![window], ..QuietHours::new(id, "always", Zone::UTC, at(0)) }
}
