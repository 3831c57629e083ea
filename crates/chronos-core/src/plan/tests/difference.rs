//! What an edit changes about the runs to come.

use super::*;

fn compared(before: &Desk, after: &Desk, until: &str) -> Difference {
    let side = |desk: &Desk| (desk.job.clone(), desk.quiet.clone());
    let ((old, quiet_old), (new, quiet_new)) = (side(before), side(after));
    difference((&old, quiet_old.as_ref()), (&new, quiet_new.as_ref()), at(until))
}

fn slots(runs: &[PreviewRun]) -> Vec<String> {
    runs.iter().map(|run| clock(run.nominal)).collect()
}

fn every(minutes: u64) -> Schedule {
    Schedule::interval(Duration::from_mins(minutes), at("09:00:00")).unwrap()
}

#[test]
fn another_cadence_adds_and_removes_runs_and_keeps_those_in_common() {
    let found = compared(&Desk::new(every(20)), &Desk::new(every(30)), "11:00:00");
    assert_eq!(slots(&found.added), ["09:30:00", "10:30:00"]);
    assert_eq!(slots(&found.removed), ["09:20:00", "09:40:00", "10:20:00", "10:40:00"]);
    assert_eq!((found.kept, found.complete, found.until), (1, true, at("11:00:00")));
    assert_eq!(found.to_string(), "adds 2 runs, removes 4");
}

#[test]
fn quiet_hours_remove_runs_or_move_them() {
    let plain = Desk::new(every(30));
    let skipping = Desk::new(every(30)).quiet(Mode::Skip, "09:30", "10:00");
    let found = compared(&plain, &skipping, "10:30:00");
    assert_eq!(slots(&found.removed), ["09:30:00"]);
    assert_eq!(found.to_string(), "removes 1 run");
    assert_eq!(compared(&skipping, &plain, "10:30:00").to_string(), "adds 1 run");
    let deferring = Desk::new(every(30))
        .quiet(Mode::Defer, "09:30", "09:45")
        .overlap(OverlapPolicy::Concurrent);
    let found = compared(&plain, &deferring, "10:30:00");
    assert_eq!(found.to_string(), "moves 1 run");
    assert_eq!(found.moved[0].from, at("09:30:00"));
    assert_eq!(found.moved[0].run.effective, Some(at("09:45:00")));
}

#[test]
fn an_edit_of_nothing_changes_no_run() {
    let found = compared(&Desk::new(every(30)), &Desk::new(every(30)), "10:30:00");
    assert_eq!(found.to_string(), "changes no run");
    assert_eq!(found.kept, 2);
}

#[test]
fn more_runs_than_can_be_gone_through_are_compared_as_far_as_they_are_known() {
    let often = Desk::new(Schedule::interval(Duration::from_secs(1), at("09:00:00")).unwrap());
    let found = compared(&often, &Desk::new(every(20)), "11:00:00");
    assert!(!found.complete);
    assert_eq!(found.until, at("09:00:00").after(Duration::from_secs(5_000)));
    assert_eq!((found.removed.len(), found.kept), (4_995, 4));
    let found = compared(&often, &often, "11:00:00");
    assert_eq!(found.to_string(), "changes no run");
}
