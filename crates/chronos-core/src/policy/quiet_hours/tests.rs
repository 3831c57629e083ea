//! What quiet hours promise: when they hold, and until when.

use chrono::Weekday;
use proptest::prelude::*;

use super::*;

fn policy(zone: &str, windows: &[(WeekdaySet, &str, &str)]) -> QuietHours {
    let (id, zone) = (PolicyId::new(Timestamp::EPOCH, [0; 10]), Zone::parse(zone).unwrap());
    let windows = windows.iter();
    let windows = windows.map(|(days, start, end)| Window::new(*days, start, end).unwrap());
    let windows = windows.collect();
    QuietHours { windows, ..QuietHours::new(id, "nights", zone, Timestamp::EPOCH) }
}

#[test]
fn windows_hold_from_their_start_to_just_before_their_end() {
    let nights = policy("Europe/Berlin", &[(WeekdaySet::WEEKDAYS, "22:00", "07:00")]);
    let weekday = policy("UTC", &[(WeekdaySet::of(&[Weekday::Mon]), "09:00", "17:00")]);
    let touching = policy(
        "UTC",
        &[(WeekdaySet::EVERY_DAY, "20:00", "24:00"), (WeekdaySet::EVERY_DAY, "00:00", "06:30")],
    );
    // 2026-11-16 is a Monday; Berlin is UTC+1 in winter.
    let table = [
        (&nights, "2026-11-16T20:59:59Z", None),
        (&nights, "2026-11-16T21:00:00Z", Some("2026-11-17T06:00:00Z")),
        (&nights, "2026-11-17T05:59:59Z", Some("2026-11-17T06:00:00Z")),
        (&nights, "2026-11-17T06:00:00Z", None),
        // Friday's night belongs to Friday and ends on Saturday; Sunday's does not exist.
        (&nights, "2026-11-21T03:00:00Z", Some("2026-11-21T06:00:00Z")),
        (&nights, "2026-11-22T22:00:00Z", None),
        (&weekday, "2026-11-16T09:00:00Z", Some("2026-11-16T17:00:00Z")),
        (&weekday, "2026-11-16T17:00:00Z", None),
        (&weekday, "2026-11-17T09:00:00Z", None),
        (&touching, "2026-11-16T21:00:00Z", Some("2026-11-17T06:30:00Z")),
    ];
    for (policy, at, until) in table {
        let until = until.map(|text| Timestamp::parse(text).unwrap());
        assert_eq!(policy.until(Timestamp::parse(at).unwrap()), until, "{at}");
    }
}

#[test]
fn a_window_that_ends_inside_the_spring_gap_ends_with_the_gap() {
    // Berlin skips 02:00-03:00 on 2026-03-29.
    let night = policy("Europe/Berlin", &[(WeekdaySet::EVERY_DAY, "01:00", "02:30")]);
    let at = Timestamp::parse("2026-03-29T00:30:00Z").unwrap();
    assert_eq!(night.until(at), Timestamp::parse("2026-03-29T01:00:00Z"));
}

#[test]
fn a_policy_that_covers_the_whole_week_ends_after_eight_days() {
    let always = policy("UTC", &[(WeekdaySet::EVERY_DAY, "00:00", "24:00")]);
    let at = Timestamp::parse("2026-11-16T12:00:00Z").unwrap();
    assert_eq!(always.until(at), Timestamp::parse("2026-11-24T12:00:00Z"));
}

#[test]
fn windows_that_make_no_sense_are_refused_with_the_reason() {
    let days = WeekdaySet::EVERY_DAY;
    for (days, start, end, reason) in [
        (days, "9:00", "17:00", "the start must be a time from 00:00 to 23:59"),
        (days, "24:00", "17:00", "the start must be a time from 00:00 to 23:59"),
        (days, "09:00", "17:60", "the end must be a time from 00:00 to 24:00"),
        (days, "09:00", "25:00", "the end must be a time from 00:00 to 24:00"),
        (days, "+9:00", "10:00", "the start must be a time from 00:00 to 23:59"),
        (days, "09:00", "09:00", "starts and ends at the same time"),
        (WeekdaySet::of(&[]), "09:00", "10:00", "names no weekday"),
    ] {
        let error = Window::new(days, start, end).unwrap_err().to_string();
        assert!(error.contains(reason), "{start}-{end}: {error}");
    }
}

fn date(text: &str) -> Date {
    Date::parse(text).unwrap()
}

#[test]
fn a_date_apart_is_open_or_quiet_whatever_its_weekday_says() {
    // 2026-12-24 is a Thursday; Berlin is UTC+1 in winter.
    let nights = policy("Europe/Berlin", &[(WeekdaySet::WEEKDAYS, "22:00", "07:00")]);
    let with = |exception| QuietHours {
        exceptions: BTreeMap::from([(date("2026-12-24"), exception)]),
        ..nights.clone()
    };
    let (open, quiet) = (with(Exception::Open), with(Exception::Quiet));
    let table = [
        // Wednesday's night is Wednesday's, and ends on the date.
        (&open, "2026-12-24T05:59:59Z", Some("2026-12-24T06:00:00Z")),
        // The night that begins on the date does not, and so does not end on the next day either.
        (&open, "2026-12-24T22:30:00Z", None),
        (&open, "2026-12-25T03:00:00Z", None),
        (&open, "2026-12-25T21:30:00Z", Some("2026-12-26T06:00:00Z")),
        (&quiet, "2026-12-23T20:59:59Z", None),
        // Wednesday's night, the date itself and its own night are one quiet.
        (&quiet, "2026-12-23T21:00:00Z", Some("2026-12-25T06:00:00Z")),
        (&quiet, "2026-12-24T12:00:00Z", Some("2026-12-25T06:00:00Z")),
        (&quiet, "2026-12-25T06:00:00Z", None),
    ];
    for (policy, at, until) in table {
        let until = until.map(|text| Timestamp::parse(text).unwrap());
        assert_eq!(policy.until(Timestamp::parse(at).unwrap()), until, "{at}");
    }
}

#[test]
fn a_quiet_date_without_windows_ends_with_its_last_minute() {
    let holiday = QuietHours {
        exceptions: BTreeMap::from([(date("2026-12-25"), Exception::Quiet)]),
        ..policy("Asia/Tokyo", &[])
    };
    let until = |at| holiday.until(Timestamp::parse(at).unwrap());
    assert_eq!(until("2026-12-24T14:59:59Z"), None);
    assert_eq!(until("2026-12-24T15:00:00Z"), Timestamp::parse("2026-12-25T15:00:00Z"));
    assert_eq!(until("2026-12-25T15:00:00Z"), None);
}

#[test]
fn dates_are_written_in_one_way_alone() {
    for text in ["2026-12-24", "0001-01-01", "9999-12-31", "2028-02-29"] {
        assert_eq!(date(text).to_string(), text);
        let json = serde_json::to_string(&date(text)).unwrap();
        assert_eq!(serde_json::from_str::<Date>(&json).unwrap(), date(text));
    }
    let refused = ["", "2026-2-1", "2026-02-30", "24.12.2026", "0000-01-01", "+026-01-01"];
    for text in refused.into_iter().chain(["2026-12-24 ", "\u{661}\u{662}345", "99999-01-01"]) {
        assert_eq!(Date::parse(text), None, "{text:?}");
    }
}

#[test]
fn windows_and_days_are_told_in_a_few_words() {
    let window = |days, start, end| Window::new(days, start, end).unwrap().to_string();
    assert_eq!(window(WeekdaySet::WEEKDAYS, "22:00", "07:00"), "mon-fri 22:00-07:00");
    assert_eq!(window(WeekdaySet::EVERY_DAY, "00:00", "24:00"), "daily 00:00-24:00");
    assert_eq!(window(WeekdaySet::WEEKEND, "09:30", "10:00"), "sat,sun 09:30-10:00");
    assert_eq!(WeekdaySet::parse(["Sunday", "sat"]), Ok(WeekdaySet::WEEKEND));
    assert_eq!(WeekdaySet::parse(["mon", "someday"]), Err("someday"));
}

#[test]
fn a_policy_that_has_no_bounds_is_refused_by_its_field() {
    let fine = policy("UTC", &[(WeekdaySet::EVERY_DAY, "22:00", "07:00")]);
    assert_eq!(fine.validate(), Ok(()));
    let first = NaiveDate::from_yo_opt(2026, 1).unwrap();
    let dates = (0..401).map(|day| first + chrono::Days::new(day));
    let exceptions = dates.map(|date| (Date::from(date), Exception::Open)).collect();
    for (policy, field) in [
        (QuietHours { name: "".into(), ..fine.clone() }, "name"),
        (QuietHours { name: "x".repeat(201).into(), ..fine.clone() }, "name"),
        (QuietHours { name: "a\nb".into(), ..fine.clone() }, "name"),
        (QuietHours { windows: vec![fine.windows[0]; 51], ..fine.clone() }, "windows"),
        (QuietHours { exceptions, ..fine.clone() }, "exceptions"),
    ] {
        match policy.validate() {
            Err(Error::QuietHours { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{field}: {other:?}"),
        }
    }
}

/// Whether it is quiet at this minute, by the words of the promise: a window of today that has begun, or one
/// of yesterday that goes on.
fn is_quiet_slowly(policy: &QuietHours, at: Timestamp) -> bool {
    let local = at.to_datetime().with_timezone(&policy.zone.tz()).naive_local();
    let exception = |date: NaiveDate| policy.exceptions.get(&Date::from(date));
    let clock = local.format("%H:%M").to_string();
    let today = local.date();
    let holds = |date: NaiveDate, window: &Window| {
        use chrono::Datelike as _;
        window.days().contains(date.weekday()) && exception(date) != Some(&Exception::Open)
    };
    let quiet_date = exception(today) == Some(&Exception::Quiet);
    quiet_date
        || policy.windows.iter().any(|window| {
            let (start, end) = (window.start(), window.end());
            let overnight = end < start;
            let begun = holds(today, window) && clock >= start && (overnight || clock < end);
            begun || (overnight && holds(today.pred_opt().unwrap(), window) && clock < end)
        })
}

fn any_policy() -> impl Strategy<Value = QuietHours> {
    let window = (1_u8..128, 0_u16..1_440, 0_u16..=1_440).prop_filter_map(
        "it starts and ends at one time",
        |(days, start, end)| {
            let days: Vec<Weekday> = (0..7)
                .filter(|day| days & (1 << day) != 0)
                .map(|day| Weekday::try_from(day).unwrap())
                .collect();
            let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
            Window::new(WeekdaySet::of(&days), &clock(start), &clock(end)).ok()
        },
    );
    let windows = proptest::collection::vec(window, 0..4);
    let exceptions = proptest::collection::btree_map(75_u32..100, proptest::bool::ANY, 0..6);
    let zones = proptest::sample::select(vec!["UTC", "Europe/Berlin", "America/Santiago"]);
    (windows, exceptions, zones).prop_map(|(windows, exceptions, zone)| QuietHours {
        windows,
        exceptions: exceptions
            .into_iter()
            .map(|(day, open)| {
                let date = NaiveDate::from_yo_opt(2026, day).unwrap();
                (date.into(), if open { Exception::Open } else { Exception::Quiet })
            })
            .collect(),
        ..policy(zone, &[])
    })
}

proptest! {
    /// Around the spring change of Berlin and the autumn change of Santiago.
    #[test]
    fn quiet_holds_up_to_its_end_and_no_longer(policy in any_policy(), minute in 0_u64..36_000) {
        let start = Timestamp::parse("2026-03-14T00:00:00Z").unwrap();
        let minutes = |count: u64| Duration::from_mins(count);
        let at = start.after(minutes(minute));
        let until = policy.until(at);
        prop_assert_eq!(until.is_some(), is_quiet_slowly(&policy, at));
        if let Some(end) = until {
            prop_assert!(end > at && end <= at.after(QuietHours::HORIZON));
            let mut inside = at;
            while inside < end {
                prop_assert!(is_quiet_slowly(&policy, inside), "{inside} is before {end}");
                inside = inside.after(minutes(7));
            }
            let is_over = !is_quiet_slowly(&policy, end);
            prop_assert!(is_over || end == at.after(QuietHours::HORIZON), "{end} is not the end");
        }
    }
}
