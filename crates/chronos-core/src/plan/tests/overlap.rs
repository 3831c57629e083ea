//! Slots that come due while an earlier run is alive.

use super::*;

/// A desk whose run of 09:01 has begun.
fn busy(overlap: OverlapPolicy) -> Desk {
    let mut desk = Desk::new(every_minute()).overlap(overlap);
    desk.plan("09:01:00");
    desk.claim("09:01:00");
    desk
}

#[test]
fn each_policy_treats_the_next_slots_its_own_way() {
    let table: [(OverlapPolicy, &[&str]); 5] = [
        (OverlapPolicy::Skip, &["09:01:00 running"]),
        (
            OverlapPolicy::Concurrent,
            &["09:01:00 running", "09:02:00 queued", "09:03:00 queued", "09:04:00 queued"],
        ),
        (OverlapPolicy::ConcurrentUpTo(few(2)), &["09:01:00 running", "09:02:00 queued"]),
        (OverlapPolicy::Queue(few(2)), &["09:01:00 running", "09:02:00 held", "09:03:00 held"]),
        (OverlapPolicy::Replace, &["09:01:00 stopping", "09:04:00 held"]),
    ];
    for (policy, alive) in table {
        let mut desk = busy(policy);
        for now in ["09:02:00", "09:03:00", "09:04:00"] {
            desk.plan(now);
        }
        assert_eq!(desk.alive(), alive, "{policy:?}");
    }
}

#[test]
fn a_skipped_slot_says_why() {
    let mut desk = busy(OverlapPolicy::Skip);
    let plan = desk.plan("09:02:00");
    assert_eq!(rows(&plan), ["09:02:00 skipped: overlap"]);
    assert_eq!(summaries(&plan), ["skipped the run of 09:02:00: overlap"]);
}

#[test]
fn queued_runs_follow_one_by_one_in_the_order_of_their_slots() {
    let mut desk = busy(OverlapPolicy::Queue(few(2)));
    desk.plan("09:02:00");
    desk.plan("09:03:00");
    desk.finish(Ending::Success, "09:03:10");
    assert_eq!(desk.alive(), ["09:02:00 queued", "09:03:00 held"]);
    desk.claim("09:03:10");
    desk.finish(Ending::Failed(crate::execution::Failure::permanent("no")), "09:03:20");
    assert_eq!(desk.alive(), ["09:03:00 queued"]);
}

#[test]
fn a_replaced_run_is_asked_to_stop_and_the_newcomer_waits_for_that() {
    let mut desk = busy(OverlapPolicy::Replace);
    let plan = desk.plan("09:02:00");
    assert_eq!(
        summaries(&plan),
        ["asked a run to stop: replaced by the next run", "fired for 09:02:00"]
    );
    assert_eq!(desk.alive(), ["09:01:00 stopping", "09:02:00 held"]);
    let concluded =
        desk.finish(Ending::Failed(crate::execution::Failure::transient("cut")), "09:02:05");
    assert_eq!(row(&concluded.ended), "09:01:00 cancelled");
    assert_eq!(desk.alive(), ["09:02:00 queued"]);
}

#[test]
fn a_replaced_run_that_nobody_began_ends_at_once() {
    let mut desk = Desk::new(every_minute()).overlap(OverlapPolicy::Replace);
    desk.plan("09:01:00");
    desk.plan("09:02:00");
    assert_eq!(desk.alive(), ["09:02:00 queued"]);
}

#[test]
fn of_several_slots_in_one_plan_the_newest_replaces_the_others() {
    let mut desk = busy(OverlapPolicy::Replace).catch_up(CatchUpPolicy::RunAllCapped(few(2)));
    let plan = desk.plan("09:04:00");
    assert_eq!(rows(&plan), ["09:02:00 cancelled", "09:03:00 cancelled", "09:04:00 held"]);
    assert_eq!(plan.withdrawals.len(), 1);
}

#[test]
fn a_waiting_retry_gives_way_to_the_next_slot() {
    let failure = || Ending::Failed(crate::execution::Failure::transient("no answer"));
    for policy in [OverlapPolicy::Skip, OverlapPolicy::QUEUE, OverlapPolicy::Replace] {
        let mut desk = Desk::new(every_minute()).overlap(policy).retries(3);
        desk.run("09:01:00", failure());
        assert_eq!(desk.alive(), ["09:01:00 attempt 2 queued"]);
        let plan = desk.plan("09:02:00");
        assert_eq!(desk.alive(), ["09:02:00 queued"], "{policy:?}");
        assert_eq!(
            summaries(&plan),
            ["skipped the run of 09:01:00: superseded", "fired for 09:02:00"]
        );
    }
}

#[test]
fn a_replacement_also_supersedes_retries_that_wait_beside_the_running_one() {
    let mut desk = Desk::new(every_minute()).overlap(OverlapPolicy::Concurrent).retries(3);
    desk.run("09:01:00", Ending::TimedOut);
    desk.run_now("09:01:10");
    desk.live.push(desk.live[0].again(at("09:01:30")));
    desk.live.last_mut().unwrap().retry = 1;
    let mut desk = desk.overlap(OverlapPolicy::Replace);
    desk.plan("09:02:00");
    assert_eq!(desk.alive(), ["09:02:00 queued"]);
}

#[test]
fn a_lost_retry_goes_before_the_run_that_waits_behind_it() {
    let mut desk = Desk::new(every_minute()).overlap(OverlapPolicy::Queue(few(2))).retries(3);
    desk.run("09:01:00", Ending::TimedOut);
    desk.claim("09:01:30");
    desk.plan("09:02:00");
    desk.finish(Ending::Stuck, "09:02:30");
    assert_eq!(desk.alive(), ["09:01:00 attempt 3 queued", "09:02:00 held"]);
    desk.plan("09:03:00");
    let alive = ["09:01:00 attempt 3 queued", "09:02:00 held", "09:03:00 held"];
    assert_eq!(desk.alive(), alive);
}
