//! Jobs: made, found, changed and removed.

use chronos_core::execution::{CancelCause, Failure, State};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{OverlapPolicy, retry};
use chronos_core::store::{Error, Renewal};
use chronos_core::{JobSpec, Schedule};

use crate::bench::{Bench, at, every, job_id, once, terms};

pub(crate) async fn a_new_job_stands_at_its_first_slot(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    assert_eq!(job.spec.version, 1);
    assert_eq!(job.standing.next_slot, Some(at(10)));
    assert!(job.standing.enabled);
    assert_eq!(bench.job(job.spec.id).await, Ok(job.clone()));
    assert_eq!(bench.job_named("", "a").await, Ok(Some(job)));
    assert_eq!(bench.decisions().await, ["schedule.created"]);
}

pub(crate) async fn names_are_unique_per_owner(bench: &Bench) {
    let owned = |name: &str, owner: &str| JobSpec {
        owner: owner.into(),
        name: "same".into(),
        ..every(name, 10)
    };
    bench.create(owned("a", "ann")).await;
    bench.create(owned("b", "bob")).await;
    let before = bench.answers().await;
    let refused = bench.create_job(owned("c", "ann"), at(0)).await;
    assert_eq!(refused, Err(Error::NameTaken("same".into())));
    before.assert_same(&bench.answers().await);
    let anns = bench.job_named("ann", "same").await.unwrap().unwrap();
    assert_eq!(anns.spec.id, job_id("a"));
    let bobs = bench.job_named("bob", "same").await.unwrap().unwrap();
    assert_eq!(bobs.spec.id, job_id("b"));
    assert_eq!(bench.job_named("ann", "other").await, Ok(None));
    assert_eq!(bench.job_named("", "same").await, Ok(None));
}

pub(crate) async fn an_id_is_taken_once(bench: &Bench) {
    bench.create(every("a", 10)).await;
    let before = bench.answers().await;
    let twin = JobSpec { name: "other".into(), ..every("a", 20) };
    assert!(bench.create_job(twin, at(0)).await.is_err());
    before.assert_same(&bench.answers().await);
    assert_eq!(bench.job_named("", "other").await, Ok(None));
}

pub(crate) async fn what_cannot_be_meant_is_refused(bench: &Bench) {
    let nameless = JobSpec { name: "".into(), ..every("a", 10) };
    let over = every("a", 10).schedule.ending_at(at(5)).unwrap();
    let over = JobSpec { schedule: over, ..every("a", 10) };
    for spec in [nameless, over] {
        let refused = bench.create_job(spec, at(0)).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert_eq!(bench.jobs(None, 10).await, Ok(vec![]));
    assert_eq!(bench.decisions().await, [""; 0]);
}

pub(crate) async fn a_renamed_job_frees_its_old_name(bench: &Bench) {
    let a = bench.create(every("a", 10)).await;
    bench.create(every("b", 10)).await;
    let renamed =
        |name: &str| Change::Edit(Box::new(JobSpec { name: name.into(), ..every("a", 10) }));
    let before = bench.answers().await;
    let refused = bench.amend_job(a.spec.id, renamed("b"), None, at(1)).await;
    assert_eq!(refused, Err(Error::NameTaken("b".into())));
    before.assert_same(&bench.answers().await);

    let amended = bench.amend_job(a.spec.id, renamed("z"), None, at(1)).await;
    assert_eq!(bench.job_named("", "z").await, amended.map(Some));
    assert_eq!(bench.job_named("", "a").await, Ok(None));
    let heir = JobSpec { name: "a".into(), ..every("c", 10) };
    bench.create(heir).await;
}

pub(crate) async fn an_edit_keeps_identity_and_standing_and_counts_versions(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let edited = JobSpec {
        id: job_id("z"),
        owner: "thief".into(),
        created_at: at(-99),
        version: 77,
        overlap: OverlapPolicy::Concurrent,
        ..every("a", 10)
    };
    let change = Change::Edit(Box::new(edited));
    let amended = bench.amend_job(job.spec.id, change, Some(1), at(3)).await;
    let expected = JobSpec { version: 2, overlap: OverlapPolicy::Concurrent, ..every("a", 10) };
    let amended = amended.unwrap();
    assert_eq!(*amended.spec, expected);
    assert_eq!(amended.standing, job.standing);
    assert_eq!(bench.job(job.spec.id).await, Ok(amended));
    assert_eq!(bench.decisions().await, ["schedule.created", "schedule.updated"]);
}

pub(crate) async fn a_change_of_an_older_version_is_refused(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let edit = || Change::Edit(Box::new(every("a", 20)));
    bench.amend_job(job.spec.id, edit(), Some(1), at(3)).await.unwrap();
    let before = bench.answers().await;
    let pause = Change::Pause { note: None, resume_at: None };
    for change in [edit(), pause, Change::Resume] {
        let refused = bench.amend_job(job.spec.id, change, Some(1), at(4)).await;
        let conflict = Error::VersionConflict { name: "a".into(), expected: 1, current: 2 };
        assert_eq!(refused, Err(conflict));
    }
    before.assert_same(&bench.answers().await);
    bench.amend_job(job.spec.id, edit(), Some(2), at(4)).await.unwrap();
}

pub(crate) async fn an_edit_settles_due_slots_under_the_old_schedule(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let change = Change::Edit(Box::new(every("a", 100)));
    let amended = bench.amend_job(job.spec.id, change, None, at(25)).await;
    assert_eq!(amended.unwrap().standing.next_slot, Some(at(100)));
    let rows = bench.rows(job.spec.id).await;
    let rows: Vec<_> = rows.iter().map(|row| (row.slot, row.status())).collect();
    assert_eq!(rows, [(at(20), "QUEUED"), (at(10), "SKIPPED")]);
    assert_eq!(bench.fire(99).await.planned.len(), 0);
    assert_eq!(bench.fire(100).await.planned.len(), 1);
}

pub(crate) async fn an_edit_that_cannot_be_meant_changes_nothing(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    bench.start(10).await;
    let before = bench.answers().await;
    let past =
        Change::Edit(Box::new(JobSpec { schedule: Schedule::one_shot(at(5)), ..every("a", 10) }));
    let refused = bench.amend_job(job.spec.id, past, None, at(25)).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn deleting_cancels_what_waits_and_asks_what_runs_to_stop(bench: &mut Bench) {
    let job = bench
        .create(JobSpec {
            overlap: OverlapPolicy::QUEUE,
            retry: retry::Policy::up_to(3),
            ..every("a", 10)
        })
        .await;
    let id = job.spec.id;
    let running = bench.start(10).await;
    bench.fire(20).await;
    bench.save_checkpoint(&running.hold, b"half".to_vec()).await.unwrap();

    bench.delete_job(id, at(21)).await.unwrap();

    assert_eq!(bench.job(id).await, Err(Error::NoSuchJob(id)));
    assert_eq!(bench.job_named("", "a").await, Ok(None));
    assert_eq!(bench.checkpoint(id).await, Ok(None));
    assert_eq!(bench.fire(100).await.planned.len(), 0);
    let rows = bench.rows(id).await;
    assert_eq!(rows.len(), 2, "history stays");
    let waiting = State::Cancelled { run: None, cause: CancelCause::JobDeleted, at: at(21) };
    assert_eq!(rows[0].state, waiting);
    bench.reopen().await;
    let asked = Renewal::CancelRequested(CancelCause::JobDeleted);
    let renewals = bench.renew(&[running.hold], terms(22)).await;
    assert_eq!(renewals, Ok(vec![asked]));
    let failed = Ending::Failed(Failure::transient("stopped"));
    let ended = bench.end(&running, failed, 23).await;
    assert_eq!(ended.status(), "CANCELLED");
    assert_eq!(bench.execution(ended.id).await, Ok(ended));
    assert_eq!(bench.stats().await.unwrap().queued, 0, "nothing follows");
}

pub(crate) async fn a_deleted_job_keeps_nothing_for_a_successor_of_its_name(bench: &Bench) {
    let job = bench.create(every("a", 10)).await;
    let running = bench.start(10).await;
    bench.delete_job(job.spec.id, at(11)).await.unwrap();
    let heir = JobSpec { id: job_id("heir"), ..every("a", 10) };
    bench.create(heir).await;
    let late = bench.save_checkpoint(&running.hold, b"late".to_vec()).await;
    assert_eq!(late, Err(Error::NoSuchJob(job.spec.id)));
    assert_eq!(bench.checkpoint(job.spec.id).await, Ok(None));
    bench.end(&running, Ending::Success, 12).await;
    let heir = bench.job_named("", "a").await.unwrap().unwrap();
    assert_eq!(heir.standing.tally.succeeded, 0);
}

pub(crate) async fn jobs_page_in_the_order_of_their_ids(bench: &Bench) {
    for name in ["c", "a", "e", "b", "d"] {
        bench.create(once(name, 10)).await;
    }
    let names = async |after, limit| {
        let page = bench.jobs(after, limit).await.unwrap();
        let names = page.iter().map(|job| job.spec.name.to_string());
        names.collect::<Vec<_>>().concat()
    };
    assert_eq!(names(None, 2).await, "ab");
    assert_eq!(names(Some(job_id("b")), 2).await, "cd");
    assert_eq!(names(Some(job_id("d")), 2).await, "e");
    assert_eq!(names(Some(job_id("e")), 2).await, "");
    assert_eq!(names(None, 0).await, "");
    bench.delete_job(job_id("b"), at(1)).await.unwrap();
    assert_eq!(names(Some(job_id("b")), 9).await, "cde");
    assert_eq!(names(None, 9).await, "acde");
}

pub(crate) async fn an_unknown_job_is_said_to_be_unknown(bench: &Bench) {
    let id = job_id("ghost");
    let unknown = Error::NoSuchJob(id);
    assert_eq!(bench.job(id).await, Err(unknown.clone()));
    assert_eq!(bench.amend_job(id, Change::Resume, None, at(0)).await, Err(unknown.clone()));
    assert_eq!(bench.delete_job(id, at(0)).await, Err(unknown.clone()));
    assert_eq!(bench.run_now(id, None, at(0)).await, Err(unknown));
    assert_eq!(bench.executions(id, None, 9).await, Ok(vec![]));
    assert_eq!(bench.checkpoint(id).await, Ok(None));
}
