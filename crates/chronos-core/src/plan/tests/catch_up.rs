//! Slots that nobody was there to fire.

use super::*;

#[test]
fn skip_records_each_missed_slot_and_fires_the_one_on_time() {
    let mut desk = Desk::new(every_minute());
    let plan = desk.plan("09:03:05");
    assert_eq!(
        rows(&plan),
        ["09:01:00 skipped: missed", "09:02:00 skipped: missed", "09:03:00 queued"]
    );
    assert_eq!(desk.next().unwrap(), "09:04:00");
    assert_eq!(desk.job.standing.tally.skipped, 2);
}

#[test]
fn run_once_lets_the_slot_on_time_stand_for_the_missed() {
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    let plan = desk.plan("09:04:00");
    assert_eq!(rows(&plan), ["09:04:00 queued"]);
    assert_eq!(
        summaries(&plan),
        ["fired for 09:04:00, standing for 3 runs from 09:01:00 to 09:03:00"]
    );
}

#[test]
fn run_once_fires_the_newest_missed_slot_when_none_is_on_time() {
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    let plan = desk.plan("09:03:30");
    assert_eq!(rows(&plan), ["09:03:00 queued"]);
    assert_eq!(plan.executions[0].run_at, at("09:03:30"));
    assert_eq!(
        summaries(&plan),
        ["caught up the missed run of 09:03:00, standing for 3 runs from 09:01:00 to 09:03:00"]
    );
    assert_eq!(desk.next().unwrap(), "09:04:00");
}

#[test]
fn run_once_whose_slot_overlaps_says_that_the_others_were_missed() {
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    desk.plan("09:01:00");
    let plan = desk.plan("09:04:00");
    assert_eq!(rows(&plan), ["09:04:00 skipped: overlap"]);
    assert_eq!(
        summaries(&plan),
        [
            "missed 2 runs from 09:02:00 to 09:03:00: nobody was there to fire in time",
            "skipped the run of 09:04:00: overlap",
        ]
    );
    assert_eq!(desk.job.standing.tally.skipped, 3);
}

#[test]
fn run_all_capped_fires_the_oldest_in_order_and_misses_the_rest() {
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunAllCapped(few(2)));
    let plan = desk.plan("09:05:00");
    let planned = [
        "09:01:00 queued",
        "09:02:00 held",
        "09:03:00 skipped: missed",
        "09:04:00 skipped: missed",
        "09:05:00 skipped: overlap",
    ];
    assert_eq!(rows(&plan), planned);
    desk.claim("09:05:00");
    desk.finish(Ending::Success, "09:05:20");
    assert_eq!(desk.alive(), ["09:02:00 queued"]);
}

#[test]
fn outages_in_a_row_queue_no_more_caught_up_runs_than_the_cap() {
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunOnce);
    desk.plan("09:01:00");
    desk.claim("09:01:00");
    desk.plan("09:02:30");
    assert_eq!(desk.alive(), ["09:01:00 running", "09:02:00 held"]);
    let plan = desk.plan("09:04:30");
    assert_eq!(desk.alive(), ["09:01:00 running", "09:02:00 held"]);
    assert_eq!(
        summaries(&plan),
        ["missed 2 runs from 09:03:00 to 09:04:00: nobody was there to fire in time"]
    );
}

#[test]
fn run_all_capped_runs_them_at_once_where_runs_may_overlap() {
    let mut desk = Desk::new(every_minute())
        .catch_up(CatchUpPolicy::RunAllCapped(few(2)))
        .overlap(OverlapPolicy::Concurrent);
    let plan = desk.plan("09:03:00");
    assert_eq!(rows(&plan), ["09:01:00 queued", "09:02:00 queued", "09:03:00 queued"]);
}

#[test]
fn what_was_missed_longer_ago_than_the_window_is_not_caught_up() {
    let all = CatchUpPolicy::RunAllCapped(few(9));
    let window = |minutes| {
        move |spec: &mut JobSpec| {
            spec.catch_up_window = Some(Duration::from_mins(minutes));
        }
    };
    let mut desk = Desk::new(every_minute()).catch_up(all).with(window(2));
    let planned = [
        "09:01:00 skipped: missed",
        "09:02:00 skipped: missed",
        "09:03:00 queued",
        "09:04:00 held",
        "09:05:00 skipped: overlap",
    ];
    assert_eq!(rows(&desk.plan("09:05:00")), planned);
    let mut desk = Desk::new(every_minute()).catch_up(CatchUpPolicy::RunOnce).with(window(2));
    assert_eq!(
        summaries(&desk.plan("09:04:30")),
        [
            "missed the run of 09:01:00: nobody was there to fire in time",
            "missed the run of 09:02:00: nobody was there to fire in time",
            "caught up the missed run of 09:04:00, standing for 2 runs from 09:03:00 to 09:04:00",
        ]
    );
    let mut desk = Desk::new(once("09:01:00")).with(window(5));
    assert_eq!(rows(&desk.plan("09:06:00.000001")), ["09:01:00 skipped: missed"]);
    let mut desk = Desk::new(once("09:01:00")).with(window(5));
    assert_eq!(rows(&desk.plan("09:06:00")), ["09:01:00 queued"], "it is just within it");
}

#[test]
fn what_is_on_time_is_within_every_window() {
    let mut desk = Desk::new(every_minute()).with(|spec| {
        spec.misfire_grace = Duration::from_mins(3);
        spec.catch_up_window = Some(Duration::from_secs(1));
        spec.overlap = OverlapPolicy::Concurrent;
    });
    assert_eq!(rows(&desk.plan("09:02:30")), ["09:01:00 queued", "09:02:00 queued"]);
}
