//! Cron expressions in a time zone: the slots they name, in order and through every clock change.

mod days;
mod describe;
mod error;
mod fields;
mod search;
mod syntax;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime};
use croner::parser::CronParser;
use serde::{Deserialize, Deserializer, Serialize, de};

pub use self::error::{CronError, Field, Problem};
pub use self::syntax::MAX_BYTES;

use self::fields::Fields;
use self::syntax::Syntax;
use super::Zone;
use crate::Timestamp;

/// A cron expression that is known to fire, and the time zone whose clocks it is read by.
///
/// Five fields are minute, hour, day of month, month and day of week; six put the second first;
/// seven add the year last. When both day fields are set, either may match; a `+` before the day
/// of the week asks for both.
///
/// Slots follow the wall clock. A fixed time that the clocks skip fires once, at the first instant
/// after the gap; a fixed time that they show twice fires once, the first time. An expression
/// whose second, minute or hour is a `*` or a step keeps its cadence instead: it runs through both
/// passes of a repeated hour and has nothing to catch up after a gap.
#[derive(Clone, PartialEq, Eq)]
pub struct Cron {
    expression: Box<str>,
    zone: Zone,
    fields: Fields,
}

impl Cron {
    /// Reads and checks an expression.
    ///
    /// ```
    /// use chronos_core::schedule::{Cron, Zone};
    ///
    /// let berlin = Zone::parse("Europe/Berlin")?;
    /// let cron = Cron::parse("0 9 * * MON-FRI", berlin)?;
    /// assert_eq!(cron.describe(), "at 09:00, Monday to Friday, Europe/Berlin");
    ///
    /// let refused = Cron::parse("0 24 * * *", berlin).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     r#"hour "24" is out of range, accepted are 0-23, lists 1,2, ranges 1-5, steps */2"#
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(expression: &str, zone: Zone) -> Result<Self, CronError> {
        let cron = Self::read(expression, zone)?;
        cron.ask_croner()?;
        Ok(cron)
    }

    /// The first slot strictly after `instant`, or `None` when the expression's years are over.
    ///
    /// ```
    /// use chronos_core::Timestamp;
    /// use chronos_core::schedule::{Cron, Zone};
    ///
    /// let cron = Cron::parse("30 2 * * *", Zone::parse("Europe/Berlin")?)?;
    /// let saturday = Timestamp::parse("2025-03-29T12:00:00+01:00").unwrap();
    /// // On Sunday the clocks jump from 02:00 to 03:00.
    /// assert_eq!(cron.next_after(saturday), Timestamp::parse("2025-03-30T03:00:00+02:00"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        let slot = search::first_slot(&self.fields, self.zone, instant.as_secs() + 1)?;
        // West of Greenwich the last hours of 9999 lie beyond the end of time.
        (slot <= Timestamp::MAX.as_secs()).then(|| Timestamp::from_secs(slot))
    }

    /// Whether `instant` is a slot.
    #[must_use]
    pub fn matches(&self, instant: Timestamp) -> bool {
        let second = instant.as_secs();
        Timestamp::from_secs(second) == instant
            && search::first_slot(&self.fields, self.zone, second) == Some(second)
    }

    /// The shortest time between two slots on one day or on two days that follow each other, as far as
    /// clocks do not change.
    ///
    /// ```
    /// # use chronos_core::schedule::{Cron, Zone};
    /// # use std::time::Duration;
    /// let gap = |text| Cron::parse(text, Zone::UTC).map(|cron| cron.shortest_gap());
    /// assert_eq!(gap("0 9,17 * * *")?, Duration::from_hours(8));
    /// assert_eq!(gap("0,59 * * * *")?, Duration::from_mins(1));
    /// # Ok::<(), chronos_core::schedule::CronError>(())
    /// ```
    #[must_use]
    pub fn shortest_gap(&self) -> Duration {
        Duration::from_secs(self.fields.shortest_gap().unsigned_abs())
    }

    /// The wall-clock time that the expression named, when a gap moved it to `slot`.
    ///
    /// `None` when `slot` is a time that the expression names itself, or no slot at all.
    #[must_use]
    pub fn shifted_from(&self, slot: Timestamp) -> Option<NaiveDateTime> {
        let second = slot.as_secs();
        if Timestamp::from_secs(second) != slot {
            return None;
        }
        let wall = search::swallowed(&self.fields, self.zone, second)?;
        DateTime::from_timestamp(wall, 0).map(|wall| wall.naive_utc())
    }

    /// The expression as it was given, without the space around it.
    #[must_use]
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The zone whose clocks the expression is read by.
    #[must_use]
    pub const fn zone(&self) -> Zone {
        self.zone
    }

    /// The schedule in plain English, such as `every 15 minutes, UTC`.
    #[must_use]
    pub fn describe(&self) -> String {
        // The text was read once already, so it reads again.
        let times = Syntax::read(&self.expression).map(|syntax| describe::describe(&syntax));
        format!("{}, {}", times.unwrap_or_default(), self.zone)
    }

    fn read(expression: &str, zone: Zone) -> Result<Self, CronError> {
        let fields = Fields::compile(&Syntax::read(expression)?);
        let expression: Box<str> = expression.trim_ascii().into();
        if fields.next(Timestamp::MIN.as_secs()).is_none() {
            return Err(CronError::NeverFires { expression });
        }
        Ok(Self { expression, zone, fields })
    }

    /// Has `croner` accept the fields too, so that an expression means cron to others as well.
    ///
    /// Its reading is not used beyond that: it loses days (`7L`, `SAT-SUN#L`), knows no year after
    /// 5000 and keeps 10 kB per expression.
    fn ask_croner(&self) -> Result<(), CronError> {
        let plain = syntax::for_croner(&self.expression)?;
        ACCEPTED.with_borrow_mut(|accepted| {
            if accepted.contains(&plain) {
                return Ok(());
            }
            let parser = CronParser::builder().sloppy_ranges(true).build();
            parser.parse(&plain).map_err(|reason| CronError::NotUnderstood {
                expression: self.expression.clone(),
                reason: reason.to_string().into(),
            })?;
            accepted.truncate(REMEMBERED - 1);
            accepted.push_front(plain);
            Ok(())
        })
    }
}

/// Expressions that `croner` accepted lately: a fleet of jobs shares few, and asking takes longer than
/// all the rest of making a job.
const REMEMBERED: usize = 32;

thread_local! {
    static ACCEPTED: RefCell<VecDeque<String>> = const { RefCell::new(VecDeque::new()) };
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({:?} in {})", self.expression, self.zone)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Cron")]
struct Record<T> {
    expression: T,
    zone: Zone,
}

/// The expression and the zone: the rest follows from them.
impl Serialize for Cron {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Record { expression: &*self.expression, zone: self.zone }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = Record::<String>::deserialize(deserializer)?;
        // Our own reading refuses all that croner refuses, at a thirtieth of its price: a record
        // is read on every plan.
        Self::read(&record.expression, record.zone).map_err(de::Error::custom)
    }
}
