//! Numbers, times and durations as an operator writes them down.

use std::time::Duration;

/// A number, in groups of three.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// So many of a thing: "1 run", "2,000 runs".
pub(super) fn count(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", number(count))
}

/// How often: "once", "twice", "14 times".
pub(super) fn times(count: u64) -> String {
    match count {
        1 => "once".into(),
        2 => "twice".into(),
        count => format!("{} times", number(count)),
    }
}

/// How long something took, in the two largest units that tell.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.as_millis() == 0 => "less than 1 ms".into(),
        0 => format!("{} ms", duration.as_millis()),
        1..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

fn two(large: u64, unit: &str, small: u64, smaller: &str) -> String {
    if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {smaller}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_read_well() {
        for (given, told) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(given), told);
        }
        for (millis, told) in [
            (0, "less than 1 ms"),
            (42, "42 ms"),
            (1_250, "1.2 s"),
            (59_900, "59 s"),
            (60_000, "1 min"),
            (724_000, "12 min 4 s"),
            (7_260_000, "2 h 1 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), told);
        }
    }
}
