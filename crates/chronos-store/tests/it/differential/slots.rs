//! When slots are and when it is quiet, by asking every instant in turn.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Timelike};
use chrono_tz::Tz;
use chronos_core::Timestamp;

use super::setup::{Beat, Quiet, Setup, Span};

/// A minute and a second, in microseconds.
pub(super) const MINUTE: i64 = 60 * SECOND;
pub(super) const SECOND: i64 = 1_000_000;
/// Quiet is looked ahead for this long.
const EIGHT_DAYS: i64 = 8 * 24 * 60 * MINUTE;

/// The slots of a schedule after an instant, oldest first: all of them where it ends, else for as long as a history
/// may go on.
pub(super) fn slots(
    setup: &Setup,
    begun: Timestamp,
    after: Timestamp,
    span: Span,
) -> Vec<Timestamp> {
    let until = setup.end(begun).unwrap_or(span.end);
    let all: Vec<Timestamp> = match &setup.beat {
        Beat::Cron(cron, zone) => {
            let found = cron.slots(*zone, after.as_secs() - 1, until.as_secs());
            found.into_iter().map(Timestamp::from_secs).collect()
        }
        Beat::Every(seconds) => {
            let step = i64::from(*seconds) * SECOND;
            // One that starts at an instant has its first slot there.
            let first = setup.start(begun).map_or(begun.as_micros() + step, Timestamp::as_micros);
            let slots = (0..).map(|number| first + number * step);
            slots.map(Timestamp::from_micros).take_while(|slot| *slot <= until).collect()
        }
        // Each is counted from what happens to the one before.
        Beat::AfterEnd(seconds) => {
            let step = i64::from(*seconds) * SECOND;
            let slots =
                (1..).map(|number| Timestamp::from_micros(begun.as_micros() + number * step));
            let next = slots.into_iter().find(|slot| *slot > after);
            return next.into_iter().collect();
        }
        Beat::Once(later) => {
            return vec![Timestamp::from_micros(begun.as_micros() + later * SECOND)];
        }
    };
    let start = setup.start(begun);
    let is_slot = |slot: &Timestamp| {
        *slot > after && *slot <= until && start.is_none_or(|start| *slot >= start)
    };
    all.into_iter().filter(is_slot).collect()
}

/// When the quiet that holds at an instant ends; `None` when it is not quiet then.
pub(super) fn quiet_until(quiet: &Quiet, at: Timestamp) -> Option<Timestamp> {
    if !is_quiet(quiet, at.as_micros()) {
        return None;
    }
    let horizon = at.as_micros() + EIGHT_DAYS;
    // Windows begin and end with a minute, on the clocks of every zone of our days.
    let mut minute = at.as_micros().div_euclid(MINUTE) * MINUTE + MINUTE;
    while minute < horizon && is_quiet(quiet, minute) {
        minute += MINUTE;
    }
    Some(Timestamp::from_micros(minute.min(horizon)))
}

fn is_quiet(quiet: &Quiet, micros: i64) -> bool {
    let wall = wall(quiet.zone, micros);
    let (today, minute) = (wall.date(), wall.hour() * 60 + wall.minute());
    let all_day = quiet.exceptions.iter().any(|(date, open)| *date == today && !open);
    all_day
        || quiet.windows.iter().any(|window| {
            let begins = |date: NaiveDate| {
                let open = quiet.exceptions.iter().any(|(on, open)| *on == date && *open);
                window.days & (1 << date.weekday().num_days_from_monday()) != 0 && !open
            };
            if window.start < window.end {
                return begins(today) && (window.start..window.end).contains(&minute);
            }
            let yesterday = today.pred_opt().unwrap();
            begins(today) && minute >= window.start || begins(yesterday) && minute < window.end
        })
}

fn wall(zone: Tz, micros: i64) -> NaiveDateTime {
    let instant = DateTime::from_timestamp_micros(micros).unwrap();
    instant.with_timezone(&zone).naive_local()
}
