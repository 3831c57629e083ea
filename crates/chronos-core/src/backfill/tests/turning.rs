use super::*;
use crate::execution::{Failure, SkipReason, Trigger};
use crate::policy::OverlapPolicy;
use crate::policy::quiet_hours::{WeekdaySet, Window};
use crate::schedule::Zone;

/// A job whose slots up to 50 s were missed, and a backfill of them.
fn missed() -> Desk {
    let mut desk = Desk::every(10);
    desk.plan(69);
    desk.run_all(69);
    desk.begin(&Asked { to: Some(at(51)), ..Asked::from(at(0)) }, 69);
    desk
}

#[test]
fn missed_slots_run_one_after_the_other_and_the_cadence_stays() {
    let mut desk = missed();
    let next = desk.job.standing.next_slot;
    for second in 70..75 {
        desk.turns(second);
        desk.run_all(second);
    }
    assert_eq!(desk.fired(), [10, 20, 30, 40, 50]);
    assert_eq!(desk.job.standing.next_slot, next);
    let state = desk.state();
    assert_eq!(state.state, State::Finished { at: at(74) });
    assert_eq!((state.counts.succeeded, state.counts.done()), (5, 5));
    assert_eq!(desk.decisions.last().unwrap().kind(), "backfill.finished");
}

#[test]
fn what_has_run_is_passed_over_and_done_again_only_by_force() {
    let mut desk = missed();
    for second in 70..75 {
        desk.turns(second);
        desk.run_all(second);
    }
    let asked = Asked { to: Some(at(61)), ..Asked::from(at(0)) };
    desk.begin(&asked, 76);
    desk.turns(76);
    assert_eq!(desk.state().counts.already_run, 6, "the one of 60 s ran by its schedule");
    assert_eq!(desk.state().state, State::Finished { at: at(76) });
    desk.begin(&Asked { force: true, ..asked }, 77);
    let before = desk.fired().len();
    for _ in 0..6 {
        desk.turns(77);
        desk.run_all(77);
    }
    assert_eq!(desk.fired()[before..], [10, 20, 30, 40, 50, 60]);
    let again = desk.past.last().unwrap();
    assert_eq!(again.trigger, Trigger::Backfill { number: 3, again: true });
}

#[test]
fn a_run_that_was_cancelled_before_it_began_can_be_filled_in_by_another() {
    let mut desk = missed();
    desk.turn(70);
    let mut waiting = desk.live.remove(0);
    let cause = crate::execution::CancelCause::User;
    waiting.state = Stage::Cancelled { run: None, cause, at: at(70) };
    desk.file(vec![waiting.clone()], 70);
    assert_eq!(desk.state().counts.cancelled, 1);
    desk.begin(&Asked { to: Some(at(11)), ..Asked::from(at(0)) }, 71);
    desk.turn(71);
    let again = &desk.live[0];
    assert_eq!((again.slot, again.attempt), (at(10), 2));
    assert_ne!(again.id, waiting.id);
}

#[test]
fn the_schedule_waits_for_what_is_filled_in_and_loses_no_slot_to_it() {
    let policies = [OverlapPolicy::Skip, OverlapPolicy::QUEUE, OverlapPolicy::Replace].into_iter();
    for overlap in policies {
        let mut desk = missed().with(|spec| spec.overlap = overlap);
        desk.turn(69);
        assert_eq!(desk.claim(69), Some(at(10)));
        desk.plan(70);
        let slot = desk.live.iter().find(|live| live.slot == at(70)).unwrap();
        assert!(slot.is_held(), "{overlap:?}");
        assert_eq!(desk.turn(71), Turn::Wait(Wait::OwnRuns), "{overlap:?}");
        desk.finish(0, Ending::Success, 72);
        assert_eq!(desk.turn(72), Turn::Wait(Wait::JobBusy), "the schedule goes first");
        assert_eq!(desk.claim(72), Some(at(70)), "{overlap:?}");
        let skipped = |past: &Execution| {
            matches!(past.state, Stage::Skipped { reason: SkipReason::Overlap, .. })
        };
        assert!(!desk.past.iter().any(skipped), "{overlap:?}");
        assert!(!desk.past.iter().any(|past| past.status() == "CANCELLED"), "{overlap:?}");
    }
}

#[test]
fn a_retry_of_what_is_filled_in_waits_for_the_schedule_and_is_not_superseded() {
    let mut desk = missed().with(|spec| spec.retry.max_retry = 3);
    desk.turn(69);
    desk.claim(69);
    desk.finish(0, Ending::Failed(Failure::transient("down")), 69);
    assert_eq!(desk.state().counts.under_way(), 1);
    desk.plan(70);
    let retry = desk.live.iter().find(|live| live.slot == at(10)).unwrap();
    assert!(retry.is_held() && retry.attempt == 2, "{retry:?}");
    assert_eq!(desk.claim(70), Some(at(70)));
    desk.finish(0, Ending::Success, 71);
    assert_eq!(desk.claim(79), Some(at(10)));
    desk.finish(0, Ending::Success, 79);
    assert_eq!((desk.state().counts.succeeded, desk.state().counts.failed), (1, 0));
}

#[test]
fn a_slot_that_waits_behind_a_failing_run_goes_before_its_retry() {
    let mut desk = missed().with(|spec| spec.retry.max_retry = 3);
    desk.turn(69);
    desk.claim(69);
    desk.plan(70);
    desk.finish(0, Ending::Failed(Failure::transient("down")), 71);
    assert_eq!(desk.claim(99), Some(at(70)));
    assert_eq!(desk.claim(99), None, "one at a time");
}

#[test]
fn it_waits_while_its_job_is_paused_and_in_quiet_hours_and_loses_nothing() {
    let mut desk = missed();
    let pause = crate::plan::Change::Pause { note: None, resume_at: None };
    let paused = desk.look(|job, live| crate::plan::amend(job, live, pause, at(69))).unwrap();
    desk.apply(&paused.plan, 69);
    assert_eq!(desk.turn(70), Turn::Wait(Wait::JobPaused));
    let resume = crate::plan::Change::Resume;
    let resumed = desk.look(|job, live| crate::plan::amend(job, live, resume, at(71))).unwrap();
    desk.apply(&resumed.plan, 71);
    let id = crate::PolicyId::new(Timestamp::EPOCH, [0; 10]);
    desk.quiet = Some(QuietHours {
        windows: vec![Window::new(WeekdaySet::EVERY_DAY, "08:00", "09:00").unwrap()],
        ..QuietHours::new(id, "mornings", Zone::UTC, Timestamp::EPOCH)
    });
    assert!(matches!(desk.turn(72), Turn::Wait(Wait::QuietHours(_))));
    desk.quiet = None;
    assert!(matches!(desk.turn(73), Turn::Fire { .. }));
}

#[test]
fn what_waits_is_held_by_a_pause_of_the_job_and_not_skipped() {
    let mut desk = missed();
    desk.turn(69);
    let pause = crate::plan::Change::Pause { note: None, resume_at: None };
    let paused = desk.look(|job, live| crate::plan::amend(job, live, pause, at(69))).unwrap();
    desk.apply(&paused.plan, 69);
    assert!(desk.live[0].is_held());
    assert_eq!(desk.claim(70), None);
    let resume = crate::plan::Change::Resume;
    let resumed = desk.look(|job, live| crate::plan::amend(job, live, resume, at(71))).unwrap();
    desk.apply(&resumed.plan, 71);
    assert_eq!(desk.claim(71), Some(at(10)));
}

#[test]
fn switches_say_what_became_of_it_and_one_that_is_over_stays_so() {
    let mut desk = missed();
    let (paused, decision) = desk.state().switched(Switch::Pause, at(70)).unwrap();
    assert_eq!((paused.state, decision.unwrap().kind()), (State::Paused, "backfill.paused"));
    assert_eq!(paused.switched(Switch::Pause, at(71)).unwrap().1, None);
    desk.backfill = Some(paused);
    assert_eq!(desk.turn(72), Turn::Rest);
    let (cancelled, _) = desk.state().switched(Switch::Cancel, at(73)).unwrap();
    for switch in [Switch::Pause, Switch::Resume, Switch::Cancel] {
        let refused = cancelled.switched(switch, at(74));
        assert_eq!(refused, Err(Error::BackfillIsOver("cancelled")));
    }
}

#[test]
fn a_preview_says_what_would_become_of_each_slot() {
    let mut desk = missed();
    desk.turns(69);
    desk.run_all(69);
    let asked = Asked { to: Some(at(31)), ..Asked::from(at(0)) };
    let fresh = desk.ask(&asked, 69).unwrap();
    let slots = fresh.upcoming(9);
    let told = |backfill: &Backfill| -> Vec<String> {
        let previewed = preview(backfill, &slots, &desk.ledger());
        previewed.iter().map(|it| format!("{}: {it}", it.action.as_str())).collect()
    };
    let ran = "skip: it has run: SUCCESS".to_owned();
    let skipped = "run: it did not run: SKIPPED".to_owned();
    assert_eq!(told(&fresh), [ran, skipped.clone(), skipped]);
    let forced = Backfill { force: true, ..fresh };
    assert_eq!(told(&forced)[0], "redo: it has run (SUCCESS) and is to run again");
}
