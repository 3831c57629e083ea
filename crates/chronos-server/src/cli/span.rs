//! How far off an instant is, in the two largest units that matter.

use chrono::Months;
use chronos_core::Timestamp;

/// How long after `from` the instant is, such as "in 3 h 12 min".
pub(super) fn until(instant: Timestamp, from: Timestamp) -> String {
    let years = instant.to_datetime().years_since(from.to_datetime()).unwrap_or(0);
    if years > 0 {
        let anniversary = from.to_datetime() + Months::new(12 * years);
        let days = instant.since(anniversary.into()).as_secs() / 86_400;
        return two(u64::from(years), "y", days, "d");
    }
    let seconds = instant.since(from).as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0 => "in less than 1 s".into(),
        1..60 => format!("in {seconds} s"),
        60..3_600 => two(minutes, "min", seconds % 60, "s"),
        3_600..86_400 => two(hours, "h", minutes % 60, "min"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("in {large} {large_unit}")
    } else {
        format!("in {large} {large_unit} {small} {small_unit}")
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
}
