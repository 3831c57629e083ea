//! How far off an instant is, and how long something took, in the two largest units that matter.

use std::time::Duration;

use chrono::Months;
use chronos_core::Timestamp;

/// How long after `from` the instant is, such as "in 3 h 12 min".
pub(super) fn until(instant: Timestamp, from: Timestamp) -> String {
    format!("in {}", between(from, instant))
}

/// How far the instant is from `now`, either way: "in 3 h 12 min", "5 s ago".
pub(super) fn relative(instant: Timestamp, now: Timestamp) -> String {
    if instant > now {
        until(instant, now)
    } else if now.since(instant).as_secs() == 0 {
        "just now".into()
    } else {
        format!("{} ago", between(instant, now))
    }
}

/// How long something took: "12 ms", "1.24 s", "2 min 5 s".
pub(super) fn took(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0 => "less than 1 ms".into(),
        1..1_000 => format!("{millis} ms"),
        1_000..60_000 => {
            let seconds = format!(
                "{:.2}",
                Duration::from_millis(u64::try_from(millis).unwrap_or(0)).as_secs_f64()
            );
            format!("{} s", seconds.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => between(Timestamp::EPOCH, Timestamp::EPOCH.after(duration)),
    }
}

fn between(from: Timestamp, to: Timestamp) -> String {
    let years = to.to_datetime().years_since(from.to_datetime()).unwrap_or(0);
    if years > 0 {
        let anniversary = from.to_datetime() + Months::new(12 * years);
        let days = to.since(anniversary.into()).as_secs() / 86_400;
        return two(u64::from(years), "y", days, "d");
    }
    let seconds = to.since(from).as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0 => "less than 1 s".into(),
        1..60 => format!("{seconds} s"),
        60..3_600 => two(minutes, "min", seconds % 60, "s"),
        3_600..86_400 => two(hours, "h", minutes % 60, "min"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_read_as_people_say_them() {
        for (from, to, text) in [
            ("2026-03-01T00:00:00.5Z", "2026-03-01T00:00:01Z", "in less than 1 s"),
            ("2026-03-01T00:00:00Z", "2026-03-01T00:00:42Z", "in 42 s"),
            ("2026-03-01T00:00:00Z", "2026-03-01T00:01:00Z", "in 1 min"),
            ("2026-03-01T00:00:00Z", "2026-03-01T00:05:03Z", "in 5 min 3 s"),
            ("2026-03-01T00:00:00Z", "2026-03-01T03:12:59Z", "in 3 h 12 min"),
            ("2026-03-01T00:00:00Z", "2026-03-03T00:59:59Z", "in 2 d"),
            ("2026-03-01T00:00:00Z", "2027-02-28T23:00:00Z", "in 364 d 23 h"),
            ("2026-03-01T00:00:00Z", "2027-03-01T00:00:00Z", "in 1 y"),
            ("2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z", "in 1 y 365 d"),
            ("2028-02-29T00:00:00Z", "2029-03-01T00:00:00Z", "in 1 y 1 d"),
            ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "in 9998 y 364 d"),
        ] {
            let [from, to] = [from, to].map(|text| Timestamp::parse(text).unwrap());
            assert_eq!(until(to, from), text);
        }
    }

    #[test]
    fn the_past_lies_behind_and_the_future_ahead() {
        let now = Timestamp::from_secs(10_000);
        assert_eq!(relative(Timestamp::from_secs(10_061), now), "in 1 min 1 s");
        assert_eq!(relative(Timestamp::from_secs(9_955), now), "45 s ago");
        assert_eq!(relative(now, now), "just now");
    }

    #[test]
    fn durations_are_as_fine_as_they_are_short() {
        for (micros, text) in [
            (900, "less than 1 ms"),
            (12_400, "12 ms"),
            (1_000_000, "1 s"),
            (1_237_000, "1.24 s"),
            (59_999_000, "60 s"),
            (125_000_000, "2 min 5 s"),
            (90_000_000_000, "1 d 1 h"),
        ] {
            assert_eq!(took(Duration::from_micros(micros)), text);
        }
    }
}
