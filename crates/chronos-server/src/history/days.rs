//! The days that somebody asks about.

use std::time::Duration;

use chronos_core::Timestamp;
use chronos_history::{Level, Period};

/// Days that are told unless others are asked for.
const USUAL: u32 = 30;
/// Days that are told at most.
const MOST: u32 = 400;
const DAY: Duration = Duration::from_hours(24);

/// The first and the last day that are asked for, or what is wrong with the first.
pub(crate) fn days(
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    now: Timestamp,
) -> Result<(Period, Period), String> {
    let day = |at| Period::containing(Level::Day, at);
    let last = day(to.unwrap_or(now));
    let first = day(from.unwrap_or_else(|| last.start().before(DAY * (USUAL - 1))));
    if first > last {
        return Err("it is after `to`; use an earlier instant".into());
    }
    if last.start().since(first.start()) >= DAY * MOST {
        return Err(format!(
            "there are more than {MOST} days from it to `to`; use a later instant"
        ));
    }
    Ok((first, last))
}
