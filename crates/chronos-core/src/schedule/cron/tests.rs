//! Cron by example: what expressions mean in words, which are refused, and old flaws of parsers.

use super::*;

const DESCRIPTIONS: &str = r"
* * * * *             | every minute
*/15 * * * *          | every 15 minutes
*/7 * * * *           | every 7 minutes from minute 0 to 56 of every hour
5/15 * * * *          | every 15 minutes from minute 5 to 50 of every hour
5-10 3 * * *          | every minute from minute 5 to 10 of hour 3
15 * * * *            | at minute 15 of every hour
0,30 * * * *          | at minutes 0 and 30 of every hour
1-5,10,20/5 * * * *   | at minutes 1 to 5, 10 and every 5th from 20 to 55 of every hour
*/15 9-17 * * MON-FRI | every 15 minutes from 09:00 to 17:59, Monday to Friday
*/5 */2 * * *         | every 5 minutes of every 2nd hour
* 9,10 * * *          | every minute of hours 9 and 10
0 * * * *             | every hour
0 */2 * * *           | every 2 hours
0 */5 * * *           | every 5 hours from 00:00 to 20:00
0 */24 * * *          | at 00:00
30 8-18/2 * * 1-5     | every 2 hours from 08:30 to 18:30, Monday to Friday
0 9-17 * * *          | every hour from 09:00 to 17:00
0 22-23,0-6 * * *     | at minute 0 of hours 22 to 23 and 0 to 6
* * * * * *           | every second
*/10 * * * * *        | every 10 seconds
30 * * * * *          | at second 30 of every minute
*/10 * 9 * * *        | every 10 seconds from 09:00 to 09:59
*/10 30 9 * * *       | every 10 seconds of minute 30 of hour 9
* */5 * * * *         | every second of every 5th minute of every hour
0 9 * * MON-FRI       | at 09:00, Monday to Friday
30 0 9 * * *          | at 09:00:30
0,30 9,12 * * *       | at 09:00, 09:30, 12:00 and 12:30
0 0 * * 1,3,5         | at 00:00 on Monday, Wednesday and Friday
0 0 * * 0,7           | at 00:00 on Sunday
0 0 * * */2           | at 00:00 on Sunday, Tuesday, Thursday and Saturday
0 0 * * MON#2         | at 00:00 on the second Monday of the month
30 2 * * FRI#L        | at 02:30 on the last Friday of the month
30 2 * * 7L           | at 02:30 on the last Sunday of the month
0 0 * * 1-2#1,5       | at 00:00 on Friday, the first Monday and the first Tuesday of the month
0 3 1 * *             | at 03:00 on day 1 of the month
0 0 1,15,L * ?        | at 00:00 on days 1 and 15 and the last day of the month
0 0 */2 * *           | at 00:00 on every 2nd day from 1 to 31 of the month
0 0 LW * *            | at 00:00 on the last weekday of the month
0 0 15W * *           | at 00:00 on the weekday nearest day 15 of the month
0 0 13 * FRI          | at 00:00 on day 13 of the month or on Friday
0 0 1-7 * +MON        | at 00:00 on days 1 to 7 of the month if also on Monday
@yearly               | at 00:00 on 1 January
@weekly               | at 00:00 on Sunday
0 12 * 6-8 *          | at 12:00 from June to August
0 12 1 */3 *          | at 12:00 on day 1 of the month in January, April, July and October
0 0 0 1 1 * 2030      | at 00:00 on 1 January in 2030
0 0 0 1 * * 2030-2035 | at 00:00 on day 1 of the month from 2030 to 2035
0 0 0 1 1 ? 2030/4    | at 00:00 on 1 January in every 4th year from 2030 to 9998
";

const REFUSALS: &str = r#"
60 * * * *             | minute "60" is out of range
1,2, * * * * *         | second "1,2," has an empty list item
MON * * * *            | minute "MON" is not understood
/10 * * * *            | minute "/10" is not understood
¹ * * * *              | minute "¹" is not understood
0 9,24 * * *           | hour "24" is out of range
0 99999 * * *          | hour "99999" is out of range
0 17-9 * * *           | hour "17-9" runs backwards
0 */0 * * *            | hour "*/0" has a step that is zero or too large
0 */25 * * *           | hour "*/25" has a step that is zero or too large
0 +5 * * *             | hour "+5" is not understood
0 *,5 * * *            | hour "*" is not understood
0 ? * * *              | hour "?" is not understood
0 0 32W * *            | day of month "32W" is out of range
0 0 1-5W * *           | day of month "1-5W" is not understood
0 0 L-3 * *            | day of month "L-3" is not understood
0 0 1 Nov-feb *        | month "Nov-feb" runs backwards
0 0 1 january *        | month "january" is not understood
0 0 * * L              | day of week "L" is not understood
0 0 * * 1#6            | day of week "1#6" is out of range
0 0 * * 8              | day of week "8" is out of range
0 12 1 * +             | day of week "+" is not understood
0 0 0 1 1 * 10000      | year "10000" is out of range
* * *                  | cron expression "* * *" has 3 fields
hello                  | cron expression "hello" has 1 field
@reboot                | nickname "@reboot" is not supported, a schedule needs times and a boot is none
@often                 | unknown nickname "@often"
0 0 30 2 *             | cron expression "0 0 30 2 *" never fires, no date in the calendar matches it
0 0 31 4 *             | cron expression "0 0 31 4 *" never fires, no date in the calendar matches it
0 0 31W 4 *            | cron expression "0 0 31W 4 *" never fires, no date in the calendar matches it
0 0 30 2 +MON          | cron expression "0 0 30 2 +MON" never fires, no date in the calendar matches it
0 0 0 29 2 * 2025-2027 | cron expression "0 0 0 29 2 * 2025-2027" never fires, no date in the calendar matches it
"#;

const ACCEPTED: &str = "
x * * * * *            | 0-59, lists 1,2, ranges 1-5, steps */2
x * * * *              | 0-59, lists 1,2, ranges 1-5, steps */2
* x * * *              | 0-23, lists 1,2, ranges 1-5, steps */2
* * x * *              | 1-31, lists 1,2, ranges 1-5, steps */2, L (last day), LW (last weekday), 15W (weekday nearest day 15) and ?
* * * x *              | 1-12 or JAN-DEC, lists 1,2, ranges 1-5, steps */2
* * * * x              | 0-7 or SUN-SAT, lists 1,2, ranges 1-5, steps */2, 5L (last Friday), 5#2 (second Friday), +5 (only if the day of the month matches too) and ?
* * * * * * x          | 1-9999, lists 2030,2031, ranges 2030-2035, steps */2
* * *                  | 5 (minute hour day-of-month month day-of-week), 6 (second first) or 7 (second first, year last)
@often                 | @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly
";

fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().filter(|line| !line.is_empty());
    rows.map(|line| line.split_once(" | ").map(|(left, right)| (left.trim(), right)).unwrap())
}

fn cron(expression: &str, zone: &str) -> Cron {
    Cron::parse(expression, Zone::parse(zone).unwrap()).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// The next slots as the zone's clocks show them.
fn slots(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let cron = cron(expression, zone);
    let slots = std::iter::successors(cron.next_after(at(after)), |slot| cron.next_after(*slot));
    slots.take(count).map(|slot| cron.zone().wall_clock(slot).to_string()).collect()
}

#[test]
fn descriptions_read_as_plain_english() {
    for (expression, expected) in rows(DESCRIPTIONS) {
        let described = cron(expression, "UTC").describe();
        assert_eq!(described, format!("{expected}, UTC"), "{expression}");
    }
}

#[test]
fn refusals_name_the_field_and_the_text() {
    for (expression, expected) in rows(REFUSALS) {
        let refusal = Cron::parse(expression, Zone::UTC).unwrap_err().to_string();
        let (problem, _) = refusal.split_once(", accepted are").unwrap_or((&refusal, ""));
        assert_eq!(problem, expected, "{expression}");
    }
    let endless = Cron::parse(&"* ".repeat(129), Zone::UTC).unwrap_err();
    assert_eq!(endless.to_string(), "cron expression is 258 bytes long, at most 256 are accepted");
    let blank = Cron::parse("  ", Zone::UTC).unwrap_err();
    assert_eq!(blank.to_string(), "cron expression is empty");
}

#[test]
fn refusals_say_what_is_accepted() {
    for (expression, expected) in rows(ACCEPTED) {
        let refusal = Cron::parse(expression, Zone::UTC).unwrap_err().to_string();
        let (_, accepted) = refusal.split_once(", accepted are ").unwrap();
        assert_eq!(accepted, expected, "{expression}");
    }
}

#[test]
fn a_last_sunday_written_as_seven_fires() {
    for expression in ["0 0 * * 7L", "0 0 * * 7#L", "0 0 * * SUN#L", "0 0 * * 0L"] {
        let expected = ["2025-01-26 00:00:00", "2025-02-23 00:00:00"];
        assert_eq!(slots(expression, "UTC", "2025-01-01T00:00:00Z", 2), expected, "{expression}");
    }
}

#[test]
fn a_list_of_last_and_first_weekdays_loses_no_day() {
    let expected = [
        "2025-01-05 00:00:00",
        "2025-01-25 00:00:00",
        "2025-01-26 00:00:00",
        "2025-02-02 00:00:00",
    ];
    let found = slots("0 0 * * SAT-SUN#L,SUN#1", "UTC", "2025-01-01T00:00:00Z", 4);
    assert_eq!(found, expected);
}

#[test]
fn a_skipped_calendar_day_is_crossed_and_its_fixed_time_fires_as_the_next_day_begins() {
    let table = [
        (
            "Pacific/Apia",
            "2011-12-29T12:00:00-10:00",
            ["2011-12-31 00:00:00", "2011-12-31 09:00:00"],
        ),
        (
            "Pacific/Kwajalein",
            "1993-08-20T12:00:00-12:00",
            ["1993-08-22 00:00:00", "1993-08-22 09:00:00"],
        ),
    ];
    for (zone, after, expected) in table {
        assert_eq!(slots("0 9 * * *", zone, after, 2), expected, "{zone}");
        assert_eq!(slots("0 */9 * * *", zone, after, 3).len(), 3, "{zone}");
    }
    // A cadence has nothing to catch up, be the gap an hour or a day.
    let hourly = slots("0 * * * *", "Pacific/Apia", "2011-12-29T22:30:00-10:00", 2);
    assert_eq!(hourly, ["2011-12-29 23:00:00", "2011-12-31 00:00:00"]);
}

#[test]
fn an_empty_list_item_and_a_bare_plus_are_refused() {
    for expression in ["1,2, * * * * *", ",1 * * * *", "1,,2 * * * *", "0 12 1 * +", "* * * * 1+"] {
        assert!(Cron::parse(expression, Zone::UTC).is_err(), "{expression}");
    }
}

#[test]
fn a_search_past_the_last_year_ends_at_once() {
    let berlin = cron("0 0 0 29 2 * 2020-2024", "Europe/Berlin");
    assert_eq!(berlin.next_after(at("2024-02-29T00:00:00+01:00")), None);
    assert_eq!(cron("* * * * * *", "America/Los_Angeles").next_after(Timestamp::MAX), None);
    let last = cron("0 0 0 31 12 * 9999", "UTC");
    assert_eq!(last.next_after(Timestamp::MIN), Some(at("9999-12-31T00:00:00Z")));
}

#[test]
fn the_nearest_weekday_stays_within_its_month() {
    let table = [
        ("0 0 1W 2 *", "2025-02-03 00:00:00", "Saturday the 1st"),
        ("0 0 1W 6 *", "2025-06-02 00:00:00", "Sunday the 1st"),
        ("0 0 31W 8 *", "2025-08-29 00:00:00", "Sunday the 31st"),
        ("0 0 31W 5 *", "2025-05-30 00:00:00", "Saturday the 31st"),
        ("0 0 LW 8 *", "2025-08-29 00:00:00", "the month ends on Sunday"),
    ];
    for (expression, expected, why) in table {
        let found = slots(expression, "UTC", "2025-01-01T00:00:00Z", 1);
        assert_eq!(found, [expected], "{why}");
    }
}

#[test]
fn clocks_that_go_back_into_the_last_year_are_followed_there() {
    // In Dhaka 2009 ended twice: at midnight the clocks went back to 23:00.
    let expected = ["2009-12-31 23:30:00", "2009-12-31 23:00:00", "2009-12-31 23:30:00"];
    let found = slots("0 */30 * * * * 2009", "Asia/Dhaka", "2009-12-31T23:00:00+07:00", 9);
    assert_eq!(found, expected);
}

#[test]
fn a_repeated_day_fires_a_fixed_time_once() {
    // Kwajalein crossed the dateline eastwards in 1969 and lived 23 hours twice.
    let crossing = "1969-09-29T12:00:00+11:00";
    for (expression, time) in [("30 0 * * *", "00:30:00"), ("59 23 * * *", "23:59:00")] {
        let found = slots(expression, "Pacific/Kwajalein", crossing, 4);
        let dates = found.iter().map(|slot| slot.split_once(' ').unwrap());
        let mut dates: Vec<_> = dates.inspect(|(_, found)| assert_eq!(*found, time)).collect();
        dates.dedup();
        assert_eq!(dates.len(), 4, "{found:?}");
    }
}

#[test]
fn notation_does_not_decide_whether_a_daily_job_survives_a_gap() {
    // Midnight does not exist on this day in São Paulo.
    for expression in ["0 0 * * *", "0 */24 * * *", "0 0/24 * * *", "*/60 0 * * *"] {
        let found = slots(expression, "America/Sao_Paulo", "2018-11-03T12:00:00-03:00", 1);
        assert_eq!(found, ["2018-11-04 01:00:00"], "{expression}");
    }
}

#[test]
fn a_slot_moved_out_of_a_gap_tells_the_time_it_stands_for() {
    let gap_end = at("2025-03-30T03:00:00+02:00");
    let shifted = |expression| {
        let wall = cron(expression, "Europe/Berlin").shifted_from(gap_end);
        wall.map(|wall| wall.to_string())
    };
    assert_eq!(shifted("30 2 * * *").as_deref(), Some("2025-03-30 02:30:00"));
    assert_eq!(shifted("15,45 2 * * *").as_deref(), Some("2025-03-30 02:15:00"));
    assert_eq!(shifted("0 3 * * *"), None, "03:00 exists");
    assert_eq!(shifted("0 2,3 * * *"), None, "03:00 is named itself");
    assert_eq!(shifted("*/30 * * * *"), None, "a cadence is never moved");
    assert_eq!(shifted("30 4 * * *"), None, "no slot at all");
    let berlin = cron("30 2 * * *", "Europe/Berlin");
    assert_eq!(berlin.shifted_from(at("2025-03-31T02:30:00+02:00")), None);
}

#[test]
fn a_slot_is_what_next_after_finds() {
    let berlin = cron("30 2 * * *", "Europe/Berlin");
    assert!(berlin.matches(at("2025-03-30T03:00:00+02:00")), "moved to the end of the gap");
    assert!(berlin.matches(at("2025-10-26T02:30:00+02:00")), "the first pass");
    assert!(!berlin.matches(at("2025-10-26T02:30:00+01:00")), "the second pass");
    assert!(!berlin.matches(at("2025-10-27T02:30:00.5+01:00")), "half a second late");
    assert!(berlin.matches(at("2025-10-27T02:30:00+01:00")));
}

#[test]
fn a_record_is_the_expression_and_the_zone() {
    let cron = cron("  0 9 * * mon-fri ", "Europe/Berlin");
    assert_eq!(cron.expression(), "0 9 * * mon-fri");
    let json = serde_json::to_string(&cron).unwrap();
    assert_eq!(json, r#"{"expression":"0 9 * * mon-fri","zone":"Europe/Berlin"}"#);
    assert_eq!(serde_json::from_str::<Cron>(&json).unwrap(), cron);
    let wrong = serde_json::from_str::<Cron>(&json.replace(" 9 ", " 99 ")).unwrap_err();
    assert!(wrong.to_string().starts_with("hour \"99\" is out of range"), "{wrong}");
}

#[test]
fn a_cron_is_small() {
    assert!(size_of::<Cron>() <= 128, "{} bytes", size_of::<Cron>());
}

#[test]
fn the_shortest_gap_is_that_of_the_two_closest_slots() {
    for (expression, seconds) in [
        ("* * * * * *", 1),
        ("0,45 * * * * *", 15),
        ("*/20 * * * * *", 20),
        ("* * * * *", 60),
        ("0,30,31 9 * * *", 60),
        ("59,0 * * * *", 60),
        ("*/7 * * * *", 4 * 60),
        ("0 */6 * * *", 6 * 3_600),
        ("0 0,23 * * *", 3_600),
        ("30 9 * * 1", 86_400),
        ("0 0 1 1 *", 86_400),
    ] {
        let cron = Cron::parse(expression, Zone::UTC).unwrap();
        assert_eq!(cron.shortest_gap().as_secs(), seconds, "{expression}");
    }
}
