//! Values of arguments: text in, a checked value or a sentence about what is accepted out.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::schedule::{Interval, Zone};

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

pub(super) fn every(text: &str) -> Result<Duration, String> {
    let every = text.parse().ok().map(Duration::from_secs);
    let accepted = every.filter(|every| Interval::new(*every, Timestamp::EPOCH).is_ok());
    accepted.ok_or_else(|| {
        format!("\"{text}\" is not accepted; use whole seconds, from 1 second to 100 years")
    })
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    number(text, 1..=MAX_COUNT, "a whole number")
}

pub(super) fn jitter(text: &str) -> Result<Duration, String> {
    let seconds = number(text, 0..=u32::MAX, "whole seconds")?;
    Ok(Duration::from_secs(seconds.into()))
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
