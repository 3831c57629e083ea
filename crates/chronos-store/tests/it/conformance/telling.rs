//! Telling: notices are owed in the step that records what they tell about, and are no runs of their job.

use std::time::Duration;

use chronos_core::execution::Failure;
use chronos_core::job::Status;
use chronos_core::notice::{Kind, LIMIT, Notify, Occasions, RETRY};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::CatchUpPolicy;
use chronos_core::store::{Claim, JobFilter};
use chronos_core::{Execution, Http, JobId, JobSpec};

use crate::bench::{Bench, LEASE, at, every, job_id, once, terms};

const AFTER: Duration = Duration::from_mins(5);

/// The job, of which everything is told.
fn told(spec: JobSpec) -> JobSpec {
    let webhook = Http::new("https://example.com/hook").unwrap().with_header("X-Who", "us");
    let on = Occasions { overdue: Some(AFTER), ..Occasions::default() };
    let notify = Notify { webhook: Some(webhook.unwrap()), on };
    JobSpec { notify: Some(Box::new(notify)), ..spec }
}

fn refused() -> Ending {
    Ending::Failed(Failure::permanent("refused"))
}

fn no_answer() -> Ending {
    Ending::Failed(Failure::transient("no answer"))
}

fn kinds<'a>(rows: impl IntoIterator<Item = &'a Execution>) -> Vec<Kind> {
    rows.into_iter().filter_map(|row| row.notice().map(|notice| notice.kind)).collect()
}

/// Fires what is due and takes what is ready; the run and the notices apart.
async fn begin(bench: &Bench, second: i64) -> (Option<Claim>, Vec<Claim>) {
    bench.fire(second).await;
    let claims = bench.take(second).await;
    let (notices, mut runs): (Vec<_>, Vec<_>) =
        claims.into_iter().partition(|claim| claim.execution.notice().is_some());
    assert!(runs.len() < 2);
    (runs.pop(), notices)
}

async fn status(bench: &Bench, name: &str) -> Status {
    let job = bench.job(job_id(name)).await.unwrap();
    let live = bench.live(&[job.spec.id]).await.unwrap();
    let status = Status::of(&job, &live);
    let filter = JobFilter { status: Some(status), ..JobFilter::default() };
    let found = bench.find_jobs(&filter, None, 9).await.unwrap().jobs;
    assert!(found.iter().any(|found| found.spec.id == job.spec.id), "it is found as {status:?}");
    assert_eq!(*bench.count_jobs().await.unwrap().of(status), 1);
    status
}

pub(crate) async fn a_final_failure_and_the_recovery_after_it_are_told(bench: &mut Bench) {
    let job = bench.create(told(every("a", 10))).await.spec.id;
    let (run, _) = begin(bench, 10).await;
    let failed = bench.end(&run.unwrap(), refused(), 11).await;
    bench.reopen().await;
    let live = bench.live(&[job]).await.unwrap();
    assert_eq!(kinds(&live), [Kind::Failure], "it waits, whatever happens to the node");
    let notice = live[0].notice().unwrap().clone();
    assert_eq!((notice.about.execution, notice.at), (failed.id, at(11)));
    assert_eq!((&*notice.about.status, notice.about.error.as_deref()), ("FAILED", Some("refused")));
    assert_eq!(notice.failing.map(|failing| (failing.since, failing.failures)), Some((at(11), 1)));
    let (run, notices) = begin(bench, 20).await;
    bench.end(&notices[0], Ending::Success, 21).await;
    bench.end(&run.unwrap(), Ending::Success, 21).await;
    let (run, notices) = begin(bench, 30).await;
    assert_eq!(kinds(notices.iter().map(|claim| &claim.execution)), [Kind::Recovery]);
    bench.end(&notices[0], Ending::Success, 31).await;
    bench.end(&run.unwrap(), Ending::Success, 31).await;
    assert_eq!(bench.live(&[job]).await.unwrap(), [], "a second success is no news");
    let rows = bench.rows(job).await;
    assert_eq!(rows.len(), 5, "notices are in the job's history");
    let decisions = bench.decisions().await;
    for (kind, count) in [("notice.queued", 2), ("notice.sent", 2), ("execution.succeeded", 2)] {
        assert_eq!(decisions.iter().filter(|it| **it == kind).count(), count, "{kind}");
    }
}

pub(crate) async fn a_notice_is_no_run_of_its_job(bench: &mut Bench) {
    bench.create(told(once("a", 10))).await;
    let (run, _) = begin(bench, 10).await;
    bench.end(&run.unwrap(), refused(), 11).await;
    let before = bench.job(job_id("a")).await.unwrap();
    assert_eq!(status(bench, "a").await, Status::Failed, "a notice waits");
    let (_, notices) = begin(bench, 12).await;
    bench.reopen().await;
    assert_eq!(status(bench, "a").await, Status::Failed, "a notice is under way");
    let running = notices[0].execution.running().unwrap();
    assert_eq!(running.deadline, Some(at(12).after(LIMIT)), "it has a limit of its own");
    bench.end(&notices[0], no_answer(), 13).await;
    assert_eq!(status(bench, "a").await, Status::Failed, "a notice waits to be sent again");
    bench.reopen().await;
    let (_, notices) = begin(bench, 30).await;
    assert_eq!((notices[0].execution.attempt, notices[0].execution.retry), (2, 1));
    bench.end(&notices[0], refused(), 31).await;
    assert_eq!(bench.job(job_id("a")).await.unwrap(), before, "nothing counted it");
    let letters = bench.dead_letters(None, 9).await.unwrap();
    assert_eq!(letters.len(), 1, "only the run is a dead letter: {letters:#?}");
    assert_eq!(bench.live(&[job_id("a")]).await.unwrap(), [], "nobody is told of that");
}

pub(crate) async fn runs_neither_wait_for_notices_nor_take_them_back(bench: &Bench) {
    let job = bench.create(told(every("a", 10))).await.spec.id;
    let (run, _) = begin(bench, 10).await;
    bench.end(&run.unwrap(), refused(), 11).await;
    let (run, notices) = begin(bench, 20).await;
    bench.end(&run.unwrap(), Ending::Success, 21).await;
    bench
        .amend_job(job, Change::Pause { note: None, resume_at: None }, None, at(22))
        .await
        .unwrap();
    bench.amend_job(job, Change::Disable, None, at(22)).await.unwrap();
    let live = bench.live(&[job]).await.unwrap();
    assert_eq!(kinds(&live), [Kind::Failure, Kind::Recovery], "what has happened is told");
    assert!(live[0].running().unwrap().cancel.is_none());
    bench.end(&notices[0], Ending::Success, 23).await;
    let (_, notices) = begin(bench, 24).await;
    bench.end(&notices[0], Ending::Success, 25).await;
    assert_eq!(bench.live(&[job]).await.unwrap(), []);
}

pub(crate) async fn a_notice_that_is_never_taken_is_given_up_and_not_told_of(bench: &Bench) {
    bench.create(told(once("a", 10))).await;
    let (run, _) = begin(bench, 10).await;
    bench.end(&run.unwrap(), refused(), 11).await;
    let mut second = 12;
    for attempt in 1..=RETRY.max_retry + 1 {
        let (_, notices) = begin(bench, second).await;
        assert_eq!(notices.len(), 1, "attempt {attempt}");
        bench.end(&notices[0], no_answer(), second).await;
        second += 7_200;
    }
    assert_eq!(bench.live(&[job_id("a")]).await.unwrap(), []);
    assert_eq!(bench.dead_letters(None, 9).await.unwrap().len(), 1);
}

pub(crate) async fn a_webhook_out_of_order_gathers_one_notice_of_a_kind(bench: &mut Bench) {
    let job = bench.create(told(every("a", 10))).await.spec.id;
    for round in 1..9 {
        let (run, notices) = begin(bench, round * 10).await;
        for notice in notices {
            bench.end(&notice, no_answer(), round * 10 + 1).await;
        }
        bench.end(&run.unwrap(), refused(), round * 10 + 2).await;
        let live = bench.live(&[job]).await.unwrap();
        assert!(live.len() <= 2, "{live:#?}");
    }
    bench.reopen().await;
    let rows = bench.rows(job).await;
    let superseded = rows.iter().filter(|row| row.notice().is_some() && row.status() == "SKIPPED");
    assert!(superseded.count() > 3);
}

pub(crate) async fn a_lost_notice_is_told_by_another_worker(bench: &Bench) {
    bench.create(told(once("a", 10))).await;
    let (run, _) = begin(bench, 10).await;
    bench.end(&run.unwrap(), refused(), 11).await;
    let (_, lost) = begin(bench, 12).await;
    let reaped = bench.reap(at(12 + LEASE), 9).await.unwrap();
    assert_eq!((reaped.ended.len(), reaped.ended[0].id), (1, lost[0].execution.id));
    let (_, notices) = begin(bench, 12 + LEASE).await;
    assert_eq!((notices[0].execution.attempt, notices[0].execution.lost), (2, 1));
    let late = bench.try_end(lost[0].hold, Ending::Success, 50).await;
    assert!(late.is_err(), "whoever lost it has nothing to say");
    bench.end(&notices[0], Ending::Success, 51).await;
}

pub(crate) async fn a_run_that_has_not_begun_in_time_is_told_of_once(bench: &mut Bench) {
    let job = bench.create(told(once("a", 10))).await.spec.id;
    bench.fire(10).await;
    let reaped = bench.reap(at(309), 9).await.unwrap();
    assert_eq!((kinds(&reaped.overdue), reaped.next), (vec![], Some(at(310))));
    bench.reopen().await;
    let reaped = bench.reap(at(310), 9).await.unwrap();
    assert_eq!(reaped.overdue.len(), 1);
    assert_eq!(reaped.next, None);
    bench.reopen().await;
    let reaped = bench.reap(at(900), 9).await.unwrap();
    assert_eq!((reaped.overdue.len(), reaped.next), (0, None), "once");
    let live = bench.live(&[job]).await.unwrap();
    assert_eq!(kinds(&live), [Kind::Overdue]);
    let (run, notices) = begin(bench, 900).await;
    assert_eq!(notices[0].execution.notice().unwrap().about.execution, run.unwrap().execution.id);
}

pub(crate) async fn a_run_that_began_in_time_is_not_overdue(bench: &Bench) {
    bench.create(told(once("a", 10))).await;
    let (run, _) = begin(bench, 10).await;
    let run = run.unwrap();
    for second in (20..400).step_by(20) {
        bench.renew(&[run.hold], terms(second)).await.unwrap();
        let reaped = bench.reap(at(second), 9).await.unwrap();
        assert_eq!((reaped.overdue.len(), reaped.ended.len()), (0, 0));
    }
    // Handed back unbegun it waits again, and is late.
    bench.release(&[run.hold], at(400)).await.unwrap();
    assert_eq!(bench.reap(at(400), 9).await.unwrap().overdue.len(), 1);
}

pub(crate) async fn a_run_that_a_person_keeps_waiting_is_not_overdue(bench: &mut Bench) {
    let job = bench.create(told(once("a", 10))).await.spec.id;
    bench.fire(10).await;
    bench
        .amend_job(job, Change::Pause { note: None, resume_at: None }, None, at(11))
        .await
        .unwrap();
    let reaped = bench.reap(at(310), 9).await.unwrap();
    assert_eq!((reaped.overdue.len(), reaped.next), (0, Some(at(610))));
    bench.reopen().await;
    bench.amend_job(job, Change::Resume, None, at(400)).await.unwrap();
    assert_eq!(bench.reap(at(610), 9).await.unwrap().overdue.len(), 1);
}

pub(crate) async fn telling_of_overdue_runs_keeps_to_its_limit(bench: &Bench) {
    for name in ["a", "b", "c"] {
        bench.create(told(once(name, 10))).await;
    }
    bench.fire(10).await;
    for left in [1, 0] {
        let reaped = bench.reap(at(310), 2).await.unwrap();
        assert_eq!((reaped.overdue.len(), reaped.next), (left + 1, (left > 0).then(|| at(310))));
    }
}

pub(crate) async fn slots_that_nobody_fired_are_told_together(bench: &Bench) {
    let catch_up = CatchUpPolicy::Skip;
    let job = bench.create(told(JobSpec { catch_up, ..every("a", 60) })).await.spec.id;
    bench.fire(1_800).await;
    let live = bench.live(&[job]).await.unwrap();
    assert_eq!(kinds(&live), [Kind::Overdue]);
    let about = &live.iter().find_map(Execution::notice).unwrap().about;
    assert_eq!((&*about.status, about.slot), ("SKIPPED", at(1_500)));
    assert_eq!(bench.status(about.execution).await, "SKIPPED");
}

pub(crate) async fn what_is_usually_told_holds_for_jobs_that_do_not_say(bench: &mut Bench) {
    let silent = Notify { webhook: None, on: Occasions::NONE };
    let own = Notify { webhook: None, on: Occasions::default() };
    bench.create(every("a", 10)).await;
    bench.create(JobSpec { notify: Some(Box::new(silent)), ..every("b", 10) }).await;
    bench.create(JobSpec { notify: Some(Box::new(own)), ..every("c", 10) }).await;
    let only_recovery = Occasions { failure: false, ..Occasions::default() };
    for (round, (usual, owed)) in
        (1..).zip([(None, ""), (Some(Occasions::default()), "ac"), (Some(only_recovery), "c")])
    {
        bench.restart().await;
        bench.notify_on(usual);
        let second = round * 10;
        bench.fire(second).await;
        let mut told = String::new();
        for claim in bench.take(second).await {
            bench.end(&claim, refused(), second + 1).await;
            let job: JobId = claim.spec.id;
            let live = bench.live(&[job]).await.unwrap();
            told += if kinds(&live).is_empty() { "" } else { &claim.spec.name };
        }
        assert_eq!(told, owed, "{usual:?}");
        for notice in bench.take(second + 1).await {
            bench.end(&notice, Ending::Success, second + 2).await;
        }
    }
}

pub(crate) async fn deleting_a_job_takes_back_what_was_to_be_told(bench: &Bench) {
    let job = bench.create(told(every("a", 10))).await.spec.id;
    let (run, _) = begin(bench, 10).await;
    let failed = bench.end(&run.unwrap(), refused(), 11).await;
    bench.delete_job(job, at(12)).await.unwrap();
    assert_eq!(bench.take(13).await.len(), 0);
    assert_eq!(bench.status(failed.id).await, "FAILED");
}
