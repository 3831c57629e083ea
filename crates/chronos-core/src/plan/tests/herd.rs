//! How many runs begin when, before they do.

use super::*;

const HOUR: usize = 3_600;

/// The hour from nine on, in bins of a minute.
fn minutes(desks: &[Desk]) -> Vec<Rush> {
    counted(desks, u64::MAX).0.bins(60)
}

fn counted(desks: &[Desk], patience: u64) -> (Herd, bool) {
    let mut herd = Herd::new(at("09:00:00"), HOUR, patience);
    for desk in desks {
        herd.add(&desk.job, desk.quiet.as_ref());
    }
    let policies: Vec<&QuietHours> = desks.iter().filter_map(|desk| desk.quiet.as_ref()).collect();
    let all = herd.gather(|id| policies.iter().find(|policy| policy.id == id).copied());
    (herd, all)
}

fn cron(expression: &str) -> Schedule {
    Schedule::cron(expression, Zone::UTC).unwrap()
}

/// A job that knows its quiet hours by their id.
fn observing(desk: Desk) -> Desk {
    let id = desk.quiet.as_ref().unwrap().id;
    desk.with(|spec| spec.quiet_hours = Some(id))
}

#[test]
fn jobs_that_come_together_are_counted_together_and_the_busiest_second_is_named() {
    let desks: Vec<Desk> = (0..1_000)
        .map(|_| Desk::new(cron("30 9 * * *")))
        .chain([
            Desk::new(cron("*/10 * * * *")),
            Desk::new(every_minute()),
            Desk::new(once("09:05:30")),
        ])
        .collect();
    let (herd, all) = counted(&desks, u64::MAX);
    assert_eq!((herd.jobs(), all), (1_003, true));
    assert_eq!(herd.busiest(), Some((at("09:30:00"), 1_002)));
    let bins = herd.bins(60);
    let nominal: Vec<u64> = bins.iter().map(|bin| bin.nominal).collect();
    // The first slot of the interval is a minute after its job was made.
    assert_eq!((nominal[0], nominal[1], nominal[5], nominal[30], nominal[31]), (0, 1, 2, 1_002, 1));
    assert_eq!(nominal.iter().sum::<u64>(), 1_000 + 5 + 59 + 1);
    let begun: f64 = bins.iter().map(|bin| bin.spread).sum();
    assert!((begun - 1_065.0).abs() < 1e-6, "{begun}");
}

#[test]
fn what_is_counted_alone_and_together_is_the_same() {
    let shapes = ["*/7 * * * *", "0 * * * * *", "15,45 * * * *", "*/20 * * * * *"];
    let alone = |shape: &str| Desk::new(cron(shape).ending_at(at("09:59:59")).unwrap());
    let together = |shape: &str| Desk::new(cron(shape));
    let counted = |make: &dyn Fn(&str) -> Desk| {
        let bins = minutes(&shapes.map(make));
        bins.iter().map(|bin| (bin.nominal, bin.nominal_peak)).collect::<Vec<_>>()
    };
    assert_eq!(counted(&alone), counted(&together));
}

#[test]
fn jitter_flattens_the_rush_and_loses_nobody() {
    let spread = |seconds| {
        let desks: Vec<Desk> = (0..600)
            .map(|_| Desk::new(cron("30 9 * * *")))
            .map(|desk| desk.with(|spec| spec.jitter = Duration::from_secs(seconds)))
            .collect();
        minutes(&desks)
    };
    assert!((spread(0)[30].spread_peak - 600.0).abs() < 1e-6);
    let bins = spread(600);
    assert_eq!((bins[30].nominal, bins[30].nominal_peak), (600, 600));
    assert!(bins[30..40].iter().all(|bin| (bin.spread - 60.0).abs() < 1e-6), "{bins:?}");
    assert!((bins[30].spread_peak - 1.0).abs() < 1e-6);
    assert!(bins[40].spread.abs() < 1e-6, "jitter is less than its window");
}

#[test]
fn quiet_hours_take_slots_away_or_gather_them_at_their_end() {
    let skipping = observing(Desk::new(every_minute()).quiet(Mode::Skip, "09:10", "09:20"));
    let bins = minutes(&[skipping]);
    assert_eq!((bins[15].nominal, bins[15].spread), (1, 0.0));
    assert!((bins[20].spread - 1.0).abs() < 1e-6);
    let deferring = observing(Desk::new(every_minute()).quiet(Mode::Defer, "09:10", "09:20"));
    let bins = minutes(&[deferring]);
    assert!(bins[10..20].iter().all(|bin| bin.spread.abs() < 1e-6), "{bins:?}");
    assert!(
        (bins[20].spread - 2.0).abs() < 1e-6,
        "the first that was held back, and the slot itself"
    );
    let once = observing(Desk::new(once("09:15:00")).quiet(Mode::Skip, "09:10", "09:20"));
    assert!((minutes(&[once])[20].spread - 1.0).abs() < 1e-6);
}

#[test]
fn what_is_off_or_paused_for_good_does_not_come() {
    let mut off = Desk::new(every_minute());
    off.change(Change::Disable, "09:00:00").unwrap();
    let mut paused = Desk::new(every_minute());
    paused.pause("09:00:00");
    let mut resuming = Desk::new(every_minute());
    resuming.pause_until("09:00:00", "09:50:00");
    let limited = Desk::new(every_minute().at_most(3).unwrap());
    let bins = minutes(&[off, paused, resuming, limited]);
    let nominal: Vec<u64> = bins.iter().map(|bin| bin.nominal).collect();
    assert_eq!(nominal[1..4], [1, 1, 1]);
    assert!(nominal[4..50].iter().all(|slots| *slots == 0), "{nominal:?}");
    assert!(nominal[50..].iter().all(|slots| *slots == 1), "{nominal:?}");
}

#[test]
fn a_walk_has_an_end_and_says_so() {
    let every_second = Desk::new(cron("* * * * * *"));
    let (herd, all) = counted(&[every_second], 100);
    assert!(!all);
    assert_eq!(herd.bins(HOUR)[0].nominal, 100);
}
