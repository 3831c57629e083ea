//! The coming runs, as the planner will treat them.

use super::*;

/// Each coming slot as "nominal -> effective (reasons)".
fn lines(desk: &Desk, count: usize) -> Vec<String> {
    let runs = preview(&desk.job, desk.quiet.as_ref(), count);
    let line = |run: &PreviewRun| {
        let effective = run.effective.map_or("never".into(), clock);
        let reasons: Vec<_> = run.reasons.iter().map(ToString::to_string).collect();
        let mut line = format!("{} -> {effective}", clock(run.nominal));
        if !reasons.is_empty() {
            line = format!("{line} ({})", reasons.join("; "));
        }
        line
    };
    runs.iter().map(line).collect()
}

#[test]
fn coming_runs_are_listed_up_to_the_end_of_the_schedule() {
    let desk = Desk::new(every_minute().at_most(2).unwrap());
    assert_eq!(lines(&desk, 9), ["09:01:00 -> 09:01:00", "09:02:00 -> 09:02:00"]);
    let desk = Desk::new(once("09:30:00"));
    assert_eq!(lines(&desk, 9), ["09:30:00 -> 09:30:00"]);
    assert_eq!(lines(&Desk::new(every_minute()), 3).len(), 3);
}

#[test]
fn quiet_hours_say_what_they_stop_or_move_and_until_when() {
    let skipping = Desk::new(every_minute()).quiet(Mode::Skip, "09:02", "09:04");
    let reason = "(quiet hours \"lunch\" until Mon 09:04 UTC)";
    assert_eq!(
        lines(&skipping, 4),
        [
            "09:01:00 -> 09:01:00".to_owned(),
            format!("09:02:00 -> never {reason}"),
            format!("09:03:00 -> never {reason}"),
            "09:04:00 -> 09:04:00".to_owned(),
        ]
    );
    let deferred = Desk::new(once("09:03:00")).quiet(Mode::Skip, "09:02", "09:04");
    assert_eq!(lines(&deferred, 4), [format!("09:03:00 -> 09:04:00 {reason}")]);
    let beside = Desk::new(every_minute())
        .quiet(Mode::Defer, "09:02", "09:03")
        .overlap(OverlapPolicy::Concurrent);
    assert_eq!(
        lines(&beside, 3),
        [
            "09:01:00 -> 09:01:00",
            "09:02:00 -> 09:03:00 (quiet hours \"lunch\" until Mon 09:03 UTC)",
            "09:03:00 -> 09:03:00",
        ]
    );
}

#[test]
fn jitter_and_counting_from_the_end_are_named() {
    let desk =
        Desk::new(a_minute_after_each_end()).with(|spec| spec.jitter = Duration::from_secs(9));
    let runs = preview(&desk.job, None, 3);
    for pair in runs.windows(2) {
        let end = pair[0].effective.unwrap();
        assert_eq!(pair[1].nominal, end.after(Duration::from_mins(1)));
        assert!(pair[1].reasons.contains(&Reason::CountsFromEnd));
        let jitter = pair[1].effective.unwrap().since(pair[1].nominal);
        assert!(pair[1].reasons.contains(&Reason::Jitter(jitter)));
    }
}

#[test]
fn the_preview_is_what_planning_then_does() {
    let desks = [
        Desk::new(every_minute()),
        Desk::new(every_minute()).quiet(Mode::Skip, "09:03", "09:06"),
        Desk::new(every_minute()).quiet(Mode::Defer, "09:03", "09:06"),
        Desk::new(a_minute_after_each_end()).quiet(Mode::Defer, "09:03", "09:06"),
        Desk::new(once("09:04:00")).quiet(Mode::Skip, "09:03", "09:06"),
    ];
    for mut desk in desks {
        desk = desk.with(|spec| spec.jitter = Duration::from_secs(20));
        let foretold = preview(&desk.job, desk.quiet.as_ref(), 8);
        let mut done = Vec::new();
        while done.len() < foretold.len() {
            let now = clock(desk.job.due_at().unwrap());
            let plan = desk.plan(&now);
            let effective = |row: &Execution| row.is_queued().then_some(row.run_at);
            done.extend(plan.executions.iter().map(|row| (row.slot, effective(row))));
            while !desk.live.is_empty() {
                let now = clock(desk.live[0].run_at);
                desk.claim(&now);
                desk.finish(Ending::Success, &now);
            }
        }
        let foretold: Vec<_> = foretold.iter().map(|run| (run.nominal, run.effective)).collect();
        assert_eq!(done[..foretold.len()], foretold);
    }
}

#[test]
fn a_paused_job_is_shown_as_if_it_were_resumed_and_a_finished_one_has_no_runs() {
    let mut desk = Desk::new(every_minute());
    desk.pause("09:00:10");
    assert_eq!(lines(&desk, 1), ["09:01:00 -> 09:01:00"]);
    let mut done = Desk::new(once("09:01:00"));
    done.plan("09:01:00");
    assert_eq!(lines(&done, 3), [""; 0]);
}

#[test]
fn a_pause_that_ends_by_itself_is_foretold() {
    let mut desk = Desk::new(every_minute());
    desk.pause_until("09:00:10", "09:02:30");
    assert_eq!(
        lines(&desk, 3),
        [
            "09:01:00 -> never (paused until 2026-11-16T09:02:30Z)",
            "09:02:00 -> never (paused until 2026-11-16T09:02:30Z)",
            "09:03:00 -> 09:03:00",
        ]
    );
    let mut parked = Desk::new(once("09:01:00"));
    parked.pause_until("09:00:10", "09:02:30");
    assert_eq!(parked.job.due_at(), Some(at("09:02:30")));
    assert_eq!(lines(&parked, 3), ["09:01:00 -> 09:02:30 (paused until 2026-11-16T09:02:30Z)"]);
}

#[test]
fn quiet_without_end_is_not_looked_past_for_ever() {
    let held = Desk::new(every_minute()).quiet(Mode::Defer, "00:00", "24:00");
    assert_eq!(lines(&held, 3), [""; 0]);
    let year = at("09:00:00").after(Duration::from_hours(365 * 24));
    let (runs, all) = preview_until(&held.job, held.quiet.as_ref(), year, 9);
    assert_eq!((runs, all), (vec![], false));
}
