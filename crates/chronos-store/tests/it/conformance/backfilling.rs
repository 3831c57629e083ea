//! Backfills: past slots that fire after all, once each, and what is kept of it.

use chronos_core::audit::Decision;
use chronos_core::backfill::{Advanced, Asked, Backfill, Order, Rate, State, Switch};
use chronos_core::execution::{Failure, Trigger};
use chronos_core::message::Template;
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};
use chronos_core::store::Error;
use chronos_core::{Job, JobId, JobSpec, Schedule};

use crate::bench::{Bench, at, every, job_id, once};

/// A job whose slots from 10 to 50 s were missed and whose slot at 60 s has run.
async fn missed(bench: &Bench, spec: JobSpec) -> Job {
    let job = bench.create(spec).await;
    bench.fire(61).await;
    for claim in bench.take(61).await {
        bench.end(&claim, Ending::Success, 61).await;
    }
    bench.job(job.spec.id).await.unwrap()
}

fn missed_slots() -> Asked {
    Asked { to: Some(at(51)), ..Asked::from(at(0)) }
}

async fn ask(bench: &Bench, job: JobId, asked: &Asked, second: i64) -> Backfill {
    let job = bench.job(job).await.unwrap();
    let backfill = Backfill::new(&job, asked, at(second)).unwrap();
    bench.create_backfill(backfill, at(second)).await.unwrap()
}

async fn advance(bench: &Bench, second: i64) -> Advanced {
    bench.advance_backfills(at(second), 100).await.unwrap()
}

/// Advances, runs what that queued, and so on, until nothing more begins; says which slots ran, in order.
async fn run_through(bench: &Bench, second: i64) -> Vec<i64> {
    let mut ran = Vec::new();
    for _ in 0..100 {
        advance(bench, second).await;
        let claims = bench.take(second).await;
        if claims.is_empty() {
            return ran;
        }
        for claim in claims {
            ran.push(claim.execution.slot.as_secs() - at(0).as_secs());
            bench.end(&claim, Ending::Success, second).await;
        }
    }
    panic!("it never ends");
}

async fn backfill_decisions(bench: &Bench) -> Vec<&'static str> {
    let all = bench.decisions().await;
    all.into_iter().filter(|kind| kind.starts_with("backfill.")).collect()
}

pub(crate) async fn missed_slots_run_once_each_and_the_cadence_stays(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await;
    let asked = ask(bench, job.spec.id, &missed_slots(), 62).await;
    assert_eq!((asked.number, asked.total, asked.state), (1, 5, State::Running));
    assert_eq!(bench.backfill(asked.id()).await.unwrap(), asked);
    assert_eq!(run_through(bench, 63).await, [10, 20, 30, 40, 50]);
    let done = bench.backfill(asked.id()).await.unwrap();
    assert_eq!(done.state, State::Finished { at: at(63) });
    assert_eq!((done.counts.succeeded, done.counts.done(), done.cursor), (5, 5, None));
    let after = bench.job(job.spec.id).await.unwrap().standing;
    assert_eq!(
        (after.next_slot, after.last_slot),
        (job.standing.next_slot, job.standing.last_slot)
    );
    assert_eq!(after.tally.fired, job.standing.tally.fired);
    let rows = bench.rows(job.spec.id).await;
    let filled: Vec<_> = rows.iter().filter(|row| row.trigger.backfill() == Some(1)).collect();
    assert_eq!(filled.len(), 5);
    assert_eq!(backfill_decisions(bench).await, ["backfill.created", "backfill.finished"]);
    bench.reopen().await;
    assert_eq!(bench.backfill(asked.id()).await.unwrap(), done);
    assert_eq!(advance(bench, 64).await.fired, 0);
}

pub(crate) async fn what_has_run_is_passed_over_and_done_again_only_by_force(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let whole = Asked { to: Some(at(61)), ..Asked::from(at(0)) };
    ask(bench, job, &missed_slots(), 62).await;
    run_through(bench, 62).await;
    bench.reopen().await;
    let second = ask(bench, job, &whole, 63).await;
    let advanced = advance(bench, 63).await;
    assert_eq!((advanced.fired, advanced.passed_over), (0, 6));
    let second = bench.backfill(second.id()).await.unwrap();
    assert_eq!((second.counts.already_run, second.state), (6, State::Finished { at: at(63) }));
    let forced = ask(bench, job, &Asked { force: true, ..whole }, 64).await;
    bench.reopen().await;
    assert_eq!(run_through(bench, 64).await, [10, 20, 30, 40, 50, 60]);
    let forced = bench.backfill(forced.id()).await.unwrap();
    assert_eq!((forced.number, forced.counts.succeeded), (3, 6));
    let rows = bench.rows(job).await;
    let again = Trigger::Backfill { number: 3, again: true };
    assert_eq!(rows.iter().filter(|row| row.trigger == again).count(), 6);
    let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.id).collect();
    assert_eq!(ids.len(), rows.len(), "each has an id of its own");
}

pub(crate) async fn the_newest_come_first_up_to_the_cap_at_a_pace(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let rate = Rate { at_once: 1, per_minute: Some(2) };
    let asked = Asked { order: Order::NewestFirst, cap: 3, rate, ..missed_slots() };
    let asked = ask(bench, job, &asked, 62).await;
    assert_eq!((asked.total, asked.beyond_cap), (3, true));
    for (second, slots) in [(62, &[50][..]), (63, &[]), (91, &[]), (92, &[40]), (122, &[30])] {
        assert_eq!(run_through(bench, second).await, slots, "at {second} s");
        bench.reopen().await;
    }
    let done = bench.backfill(asked.id()).await.unwrap();
    assert_eq!(done.state, State::Finished { at: at(122) });
}

pub(crate) async fn it_goes_on_after_a_restart_where_it_was(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let asked = ask(bench, job, &missed_slots(), 62).await;
    for slot in [10, 20, 30, 40, 50] {
        let advanced = advance(bench, 62).await;
        assert_eq!(advanced.fired, 1);
        bench.reopen().await;
        assert_eq!(advance(bench, 62).await.fired, 0, "one is under way");
        let claim = bench.take(62).await.remove(0);
        assert_eq!(claim.execution.slot, at(slot));
        bench.reopen().await;
        bench.end(&claim, Ending::Success, 62).await;
        bench.reopen().await;
    }
    let done = bench.backfill(asked.id()).await.unwrap();
    assert_eq!(done.state, State::Finished { at: at(62) });
}

pub(crate) async fn the_overlap_policy_holds_and_the_schedule_goes_first(bench: &Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let rate = Rate { at_once: 5, per_minute: None };
    ask(bench, job, &Asked { rate, ..missed_slots() }, 62).await;
    assert_eq!(advance(bench, 62).await.fired, 1, "the policy is to skip what overlaps");
    let filled = bench.take(62).await.remove(0);
    bench.fire(70).await;
    let scheduled = bench.rows(job).await.remove(0);
    assert_eq!((scheduled.slot, scheduled.is_held()), (at(70), true));
    bench.end(&filled, Ending::Success, 71).await;
    assert_eq!(advance(bench, 71).await.fired, 0);
    let claim = bench.take(71).await.remove(0);
    assert_eq!(claim.execution.slot, at(70));
    bench.end(&claim, Ending::Success, 72).await;
    assert_eq!(advance(bench, 72).await.fired, 1);
}

pub(crate) async fn as_many_run_at_once_as_both_allow(bench: &Bench) {
    let overlap = OverlapPolicy::Concurrent;
    let catch_up = CatchUpPolicy::Skip;
    let job = missed(bench, JobSpec { overlap, catch_up, ..every("a", 10) }).await.spec.id;
    let rate = Rate { at_once: 3, per_minute: None };
    let asked = ask(bench, job, &Asked { rate, ..missed_slots() }, 62).await;
    assert_eq!(advance(bench, 62).await.fired, 3);
    let claims = bench.take(62).await;
    assert_eq!(claims.len(), 3);
    bench.end(&claims[1], Ending::Success, 62).await;
    assert_eq!(advance(bench, 62).await.fired, 1);
    assert_eq!(bench.backfill(asked.id()).await.unwrap().counts.under_way(), 3);
}

pub(crate) async fn failures_count_with_their_last_error_and_may_be_redriven(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let asked = Asked { to: Some(at(11)), ..Asked::from(at(0)) };
    let asked = ask(bench, job, &asked, 62).await;
    advance(bench, 62).await;
    let claim = bench.take(62).await.remove(0);
    let dead = bench.end(&claim, Ending::Failed(Failure::permanent("no")), 63).await;
    let done = bench.backfill(asked.id()).await.unwrap();
    assert_eq!((done.counts.failed, done.error.as_deref()), (1, Some("no")));
    assert_eq!(done.state, State::Finished { at: at(63) });
    bench.reopen().await;
    let again = bench.redrive(dead.id, at(64)).await.unwrap();
    assert_eq!(again.trigger.backfill(), Some(1));
    assert_eq!(bench.backfill(asked.id()).await.unwrap().counts.under_way(), 1);
    let claim = bench.take(64).await.remove(0);
    bench.end(&claim, Ending::Success, 65).await;
    let done = bench.backfill(asked.id()).await.unwrap().counts;
    assert_eq!((done.failed, done.succeeded, done.under_way()), (0, 1, 0));
}

pub(crate) async fn it_is_paused_resumed_and_cancelled_with_what_is_alive_of_it(bench: &mut Bench) {
    let overlap = OverlapPolicy::Concurrent;
    let job = missed(bench, JobSpec { overlap, ..every("a", 10) }).await.spec.id;
    let rate = Rate { at_once: 2, per_minute: None };
    let id = ask(bench, job, &Asked { rate, ..missed_slots() }, 62).await.id();
    bench.switch_backfill(id, Switch::Pause, at(62)).await.unwrap();
    bench.reopen().await;
    assert_eq!(advance(bench, 62).await.fired, 0);
    bench.switch_backfill(id, Switch::Resume, at(63)).await.unwrap();
    assert_eq!(advance(bench, 63).await.fired, 2);
    let runs = bench.claim(&crate::bench::worker("w"), crate::bench::terms(63), 1.into()).await;
    let running = runs.unwrap().claims.remove(0);
    let cancelled = bench.switch_backfill(id, Switch::Cancel, at(64)).await.unwrap();
    assert_eq!(cancelled.state, State::Cancelled { at: at(64) });
    let counts = bench.backfill(id).await.unwrap().counts;
    assert_eq!((counts.cancelled, counts.under_way()), (1, 1), "one waited, one runs");
    bench.reopen().await;
    bench.end(&running, Ending::Cancelled, 65).await;
    let counts = bench.backfill(id).await.unwrap().counts;
    assert_eq!((counts.cancelled, counts.under_way()), (2, 0));
    let refused = bench.switch_backfill(id, Switch::Resume, at(66)).await;
    assert_eq!(refused, Err(Error::BackfillIsOver("cancelled")));
    assert_eq!(advance(bench, 66).await.fired, 0);
    let decided = ["created", "paused", "resumed", "cancelled"];
    assert_eq!(
        backfill_decisions(bench).await,
        decided.map(|it| match it {
            "created" => "backfill.created",
            "paused" => "backfill.paused",
            "resumed" => "backfill.resumed",
            _ => "backfill.cancelled",
        })
    );
    // What never began can be filled in by another.
    ask(bench, job, &missed_slots(), 67).await;
    assert_eq!(run_through(bench, 67).await, [20, 30, 40, 50], "that of 10 s began");
}

pub(crate) async fn a_paused_job_keeps_its_backfill_waiting(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    ask(bench, job, &missed_slots(), 62).await;
    assert_eq!(advance(bench, 62).await.fired, 1);
    let pause = Change::Pause { note: None, resume_at: None };
    bench.amend_job(job, pause, None, at(63)).await.unwrap();
    assert_eq!(bench.take(63).await.len(), 0);
    bench.reopen().await;
    assert_eq!(advance(bench, 64).await.fired, 0);
    bench.amend_job(job, Change::Resume, None, at(65)).await.unwrap();
    assert_eq!(run_through(bench, 65).await, [10, 20, 30, 40, 50]);
}

pub(crate) async fn a_job_that_is_switched_off_gives_its_backfills_up(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let id = ask(bench, job, &missed_slots(), 62).await.id();
    advance(bench, 62).await;
    bench.amend_job(job, Change::Disable, None, at(63)).await.unwrap();
    let given_up = bench.backfill(id).await.unwrap();
    assert_eq!(given_up.state, State::Cancelled { at: at(63) });
    assert_eq!((given_up.counts.cancelled, given_up.counts.under_way()), (1, 0));
    bench.reopen().await;
    // Somebody may still ask for the past of a job that has no future.
    ask(bench, job, &missed_slots(), 64).await;
    assert_eq!(run_through(bench, 64).await, [10, 20, 30, 40, 50]);
}

pub(crate) async fn a_deleted_job_takes_its_backfills_along(bench: &mut Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let id = ask(bench, job, &missed_slots(), 62).await.id();
    advance(bench, 62).await;
    let running = bench.take(62).await.remove(0);
    bench.delete_job(job, at(63)).await.unwrap();
    assert_eq!(bench.backfill(id).await, Err(Error::NoSuchBackfill(id)));
    assert_eq!(bench.backfills(job, None, 9).await, Ok(vec![]));
    assert_eq!(backfill_decisions(bench).await, ["backfill.created", "backfill.cancelled"]);
    bench.reopen().await;
    bench.end(&running, Ending::Cancelled, 64).await;
    assert_eq!(advance(bench, 64).await.fired, 0);
}

pub(crate) async fn messages_are_said_for_slots_that_said_nothing(bench: &mut Bench) {
    let template = Template::new(Some("{{slot}}"), None).unwrap();
    let job = missed(bench, every("a", 10).with_target(template)).await.spec.id;
    let said = bench.newest_message().await.unwrap();
    let rate = Rate { at_once: 1, per_minute: None };
    let id = ask(bench, job, &Asked { rate, ..missed_slots() }, 62).await.id();
    // Two that overlap say each slot once.
    let other = ask(bench, job, &missed_slots(), 62).await.id();
    advance(bench, 62).await;
    assert_eq!(bench.newest_message().await.unwrap(), said + 5);
    let both = [bench.backfill(id).await.unwrap(), bench.backfill(other).await.unwrap()];
    let done = both.each_ref().map(|it| (it.counts.succeeded, it.counts.already_run));
    assert_eq!(done, [(5, 0), (0, 5)]);
    assert!(both.iter().all(Backfill::is_over));
    bench.reopen().await;
    ask(bench, job, &Asked { force: true, ..missed_slots() }, 63).await;
    advance(bench, 63).await;
    assert_eq!(bench.newest_message().await.unwrap(), said + 10);
}

pub(crate) async fn two_nodes_fire_each_slot_once(bench: &Bench) {
    let overlap = OverlapPolicy::Concurrent;
    let job = missed(bench, JobSpec { overlap, ..every("a", 10) }).await.spec.id;
    let rate = Rate { at_once: 100, per_minute: None };
    let first = ask(bench, job, &Asked { rate, ..missed_slots() }, 62).await.id();
    let second = ask(bench, job, &Asked { rate, ..missed_slots() }, 62).await.id();
    let store = bench.handle();
    let nodes = (0..4).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                store.advance_backfills(at(62), 3).await.unwrap();
            }
        })
    });
    for node in nodes.collect::<Vec<_>>() {
        node.await.unwrap();
    }
    while advance(bench, 62).await.next == Some(at(62)) {}
    let rows = bench.rows(job).await;
    let filled: Vec<_> = rows.iter().filter(|row| row.trigger.backfill().is_some()).collect();
    assert_eq!(filled.len(), 5);
    let one = bench.backfill(first).await.unwrap().counts;
    let two = bench.backfill(second).await.unwrap().counts;
    assert_eq!((one.fired + two.fired, one.already_run + two.already_run), (5, 5));
}

pub(crate) async fn what_cannot_be_done_is_refused_and_changes_nothing(bench: &Bench) {
    let job = missed(bench, every("a", 10)).await;
    let thought = Backfill::new(&job, &missed_slots(), at(62)).unwrap();
    let edited = JobSpec {
        schedule: Schedule::interval(std::time::Duration::from_secs(20), at(0)).unwrap(),
        ..every("a", 10)
    };
    let edit = Change::Edit(Box::new(edited));
    bench.amend_job(job.spec.id, edit, None, at(62)).await.unwrap();
    let before = bench.answers().await;
    let refused = bench.create_backfill(thought.clone(), at(62)).await;
    assert_eq!(refused, Err(Error::ScheduleChanged("a".into())));
    let ghost = job_id("ghost");
    let refused = bench.create_backfill(Backfill { job: ghost, ..thought }, at(62)).await;
    assert_eq!(refused, Err(Error::NoSuchJob(ghost)));
    let unknown = chronos_core::BackfillId::of(job.spec.id, 9);
    let refused = bench.switch_backfill(unknown, Switch::Pause, at(62)).await;
    assert_eq!(refused, Err(Error::NoSuchBackfill(unknown)));
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn a_job_has_a_few_unfinished_ones_and_keeps_some_that_are_over(
    bench: &mut Bench,
) {
    let job = missed(bench, every("a", 10)).await;
    let id = job.spec.id;
    let thought = Backfill::new(&job, &missed_slots(), at(62)).unwrap();
    for _ in 0..Backfill::MOST_UNFINISHED {
        bench.create_backfill(thought.clone(), at(62)).await.unwrap();
    }
    let refused = bench.create_backfill(thought.clone(), at(62)).await;
    assert_eq!(refused, Err(Error::TooManyBackfills(Backfill::MOST_UNFINISHED)));
    for backfill in bench.backfills(id, None, 99).await.unwrap() {
        bench.switch_backfill(backfill.id(), Switch::Cancel, at(62)).await.unwrap();
    }
    for _ in 0..Backfill::KEPT {
        let made = bench.create_backfill(thought.clone(), at(63)).await.unwrap();
        bench.switch_backfill(made.id(), Switch::Cancel, at(63)).await.unwrap();
    }
    bench.reopen().await;
    let kept = bench.backfills(id, None, 1_000).await.unwrap();
    assert_eq!(kept.len(), Backfill::KEPT);
    assert_eq!((kept[0].number, kept.last().unwrap().number), (110, 11));
    let page = bench.backfills(id, Some(50), 3).await.unwrap();
    assert_eq!(page.iter().map(|it| it.number).collect::<Vec<_>>(), [49, 48, 47]);
    bench.create(once("b", 99)).await;
    assert_eq!(bench.backfills(job_id("b"), None, 9).await, Ok(vec![]));
}

pub(crate) async fn decisions_name_the_backfill_and_who_asked(bench: &Bench) {
    let job = missed(bench, every("a", 10)).await.spec.id;
    let user = chronos_core::UserId::from_bytes([5; 16]);
    let thought = Backfill::new(&bench.job(job).await.unwrap(), &missed_slots(), at(62)).unwrap();
    let made = bench.on_behalf_of(user).create_backfill(thought, at(62)).await.unwrap();
    run_through(bench, 62).await;
    let events = bench.audit(0, 1_000).await.unwrap();
    let about = |event: &&chronos_core::audit::AuditEvent| matches!(event.decision, Decision::Backfill { number, .. } if number == made.number);
    let by: Vec<_> = events.iter().filter(about).map(|event| (event.job, event.by)).collect();
    assert_eq!(by, [(Some(job), Some(user)), (Some(job), None)]);
    let fired = events.iter().filter(|event| match &event.decision {
        Decision::Fired { trigger, .. } => trigger.backfill() == Some(made.number),
        _ => false,
    });
    assert_eq!(fired.count(), 5);
}
