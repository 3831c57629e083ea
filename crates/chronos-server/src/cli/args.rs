//! Values of arguments: text in, a checked value or a sentence about what is accepted out.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::schedule::{Interval, Zone};

use super::wall_clock::WallClock;

/// The most runs that one command shows.
const MAX_COUNT: usize = 1_000;

pub(super) fn zone(text: &str) -> Result<Zone, String> {
    Zone::parse(text)
        .map_err(|unknown| format!("{unknown} (accepted are IANA names such as Europe/Berlin)"))
}

pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| {
        format!(
            "\"{text}\" is not an instant; use RFC 3339 such as 2026-12-01T09:00:00Z \
             or 2026-12-01T10:00:00+01:00"
        )
    })
}

/// An instant, or a date and a time on the clock of whoever types it.
pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    if let Some(instant) = Timestamp::parse(text) {
        return Ok(instant);
    }
    let clock = WallClock::of_the_reader();
    clock.read(text).ok_or_else(|| {
        format!(
            "\"{text}\" is no time; use RFC 3339 such as 2026-12-01T09:00:00Z, or a date and a time of {} \
             such as '2026-12-01 10:00'",
            clock.tz.name()
        )
    })
}

pub(super) fn every(text: &str) -> Result<Duration, String> {
    let every = parse_span(text).filter(|every| every.subsec_nanos() == 0);
    let accepted = every.filter(|every| Interval::new(*every, Timestamp::EPOCH).is_ok());
    accepted.ok_or_else(|| {
        format!("\"{text}\" is not accepted; use {SPANS}, from 1 second to 100 years")
    })
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    parse_span(text).ok_or_else(|| format!("\"{text}\" is not accepted; use {SPANS}"))
}

pub(super) fn whole_seconds(text: &str) -> Result<Duration, String> {
    let span = span(text)?;
    let whole = (span.subsec_nanos() == 0).then_some(span);
    whole.ok_or_else(|| format!("\"{text}\" is not accepted; use whole seconds"))
}

/// What [`parse_span`] reads, in words.
const SPANS: &str = "seconds such as 90, or a duration such as 30s, 5m, 1h30m or 2d";

/// Seconds, or numbers each followed by a unit; nothing longer than a century.
fn parse_span(text: &str) -> Option<Duration> {
    const CENTURY: Duration = Duration::from_hours(36_600 * 24);
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds)).filter(|span| *span <= CENTURY);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let millis: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        let millis = number.parse::<u64>().ok()?.checked_mul(millis)?;
        total = total.checked_add(Duration::from_millis(millis))?;
        rest = after;
    }
    Some(total).filter(|span| !text.is_empty() && *span <= CENTURY)
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    number(text, 1..=MAX_COUNT, "a whole number")
}

pub(super) fn few(text: &str) -> Result<usize, String> {
    number(text, 1..=100, "a whole number")
}

pub(super) fn limit(text: &str) -> Result<usize, String> {
    number(text, 1..=1_000_000, "a whole number")
}

fn number<N>(text: &str, accepted: RangeInclusive<N>, what: &str) -> Result<N, String>
where
    N: Display + FromStr + PartialOrd,
{
    let number = text.parse().ok().filter(|number| accepted.contains(number));
    number.ok_or_else(|| {
        let (least, most) = (accepted.start(), accepted.end());
        format!("\"{text}\" is not accepted; use {what} from {least} to {most}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("90", 90_000),
            ("0", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("5min", 300_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
        ] {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "-1", "1.5", "m", "5", "5x", "5 m", "5m3", "99999999999d", "4000000000"] {
            assert_eq!(span(text).is_ok(), text == "5", "{text}");
        }
    }
}
