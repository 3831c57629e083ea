//! How periods are written and read.

use chronos_core::Timestamp;
use chronos_history::{Level, Period};

#[test]
fn each_level_has_its_id_title_and_bounds() {
    let noon = Timestamp::parse("2026-11-15T13:42:07.5Z").unwrap();
    for (level, id, title, start, end) in [
        (
            Level::Hour,
            "toc:hour:2026-11-15T13",
            "Sunday, 15 November 2026, 13:00–14:00 UTC",
            "2026-11-15T13:00:00Z",
            "2026-11-15T14:00:00Z",
        ),
        (
            Level::Day,
            "toc:day:2026-11-15",
            "Sunday, 15 November 2026",
            "2026-11-15T00:00:00Z",
            "2026-11-16T00:00:00Z",
        ),
        (
            Level::Week,
            "toc:week:2026:W46",
            "Week 46 of 2026 (9–15 November)",
            "2026-11-09T00:00:00Z",
            "2026-11-16T00:00:00Z",
        ),
        (
            Level::Month,
            "toc:month:2026-11",
            "November 2026",
            "2026-11-01T00:00:00Z",
            "2026-12-01T00:00:00Z",
        ),
        (Level::Year, "toc:year:2026", "2026", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    ] {
        let period = Period::containing(level, noon);
        assert_eq!(period.to_string(), id);
        assert_eq!(period.title(), title);
        assert_eq!(period.start().to_string(), start);
        assert_eq!(period.end().to_string(), end);
        assert_eq!(id.parse(), Ok(period));
    }
}

#[test]
fn weeks_that_cross_a_month_or_a_year_say_so() {
    for (id, title) in [
        ("toc:week:2026:W44", "Week 44 of 2026 (26 October – 1 November)"),
        ("toc:week:2026:W53", "Week 53 of 2026 (28 December 2026 – 3 January 2027)"),
        ("toc:week:2027:W01", "Week 1 of 2027 (4–10 January)"),
        ("toc:week:2020:W01", "Week 1 of 2020 (30 December 2019 – 5 January 2020)"),
    ] {
        let week: Period = id.parse().unwrap();
        assert_eq!(week.title(), title);
    }
}

#[test]
fn a_week_belongs_to_the_month_of_its_thursday() {
    for (week, month) in [
        ("toc:week:2026:W44", "toc:month:2026-10"),
        ("toc:week:2026:W53", "toc:month:2026-12"),
        ("toc:week:2020:W01", "toc:month:2020-01"),
        ("toc:week:2026:W14", "toc:month:2026-04"),
    ] {
        let week: Period = week.parse().unwrap();
        assert_eq!(week.parent().unwrap().to_string(), month);
    }
}

#[test]
fn october_2026_owns_five_weeks_and_november_four() {
    let weeks = |month: &str| -> Vec<String> {
        let month: Period = month.parse().unwrap();
        month.children().map(|week| week.to_string()).collect()
    };
    assert_eq!(
        weeks("toc:month:2026-10"),
        ["W40", "W41", "W42", "W43", "W44"].map(|week| format!("toc:week:2026:{week}"))
    );
    assert_eq!(
        weeks("toc:month:2026-11"),
        ["W45", "W46", "W47", "W48"].map(|week| format!("toc:week:2026:{week}"))
    );
}

#[test]
fn only_one_spelling_of_an_id_is_accepted() {
    for (text, problem) in [
        ("", "it begins with toc:hour:"),
        ("toc", "it begins with toc:hour:"),
        ("day:2026-11-15", "it begins with toc:hour:"),
        ("toc:decade:2026", "it begins with toc:hour:"),
        ("TOC:day:2026-11-15", "it begins with toc:hour:"),
        ("toc:day:", "days are written toc:day:2026-11-15"),
        ("toc:day:2026-1-15", "days are written toc:day:2026-11-15"),
        ("toc:day:+026-11-15", "days are written toc:day:2026-11-15"),
        ("toc:day:2026-11-15 ", "days are written toc:day:2026-11-15"),
        ("toc:day:２026-11-1", "days are written toc:day:2026-11-15"),
        ("toc:hour:2026-11-15T9", "hours are written toc:hour:2026-11-15T13"),
        ("toc:week:2026-W46", "weeks are written toc:week:2026:W46"),
        ("toc:week:2026:w46", "weeks are written toc:week:2026:W46"),
        ("toc:year:10000", "years are written toc:year:2026"),
        ("toc:day:2026-02-29", "it has no such day"),
        ("toc:hour:2026-11-15T24", "it has no such hour"),
        ("toc:week:2025:W53", "it has no such week"),
        ("toc:week:2026:W00", "it has no such week"),
        ("toc:month:2026-13", "it has no such month"),
        ("toc:year:0000", "it has no such year"),
    ] {
        let error = text.parse::<Period>().unwrap_err().to_string();
        assert!(error.contains(problem), "{text:?}: {error}");
    }
    let endless = "toc:day:é".repeat(10_000).parse::<Period>().unwrap_err().to_string();
    assert!(endless.len() < 200, "{endless}");
}
