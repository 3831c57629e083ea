//! Schedules: when a job's slots are.

use std::time::Duration;

use chronos_core::schedule::{Cadence, Cron, Zone};
use chronos_core::{Error, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::FieldError;

/// When a job's slots are.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Schedule {
    /// At the wall-clock times of a cron expression.
    Cron {
        /// 5 fields, 6 (second first) or 7 (year last), or a nickname such as `@daily`.
        #[schema(example = "0 9 * * 1-5", max_length = 256)]
        expression: String,
        /// The IANA time zone that the expression is read in; the server's default if left out.
        #[schema(required = false, example = "Europe/Berlin")]
        timezone: String,
        #[serde(flatten)]
        bounds: Bounds,
    },
    /// A fixed distance apart.
    Interval {
        /// Whole seconds.
        #[schema(example = 300, minimum = 1)]
        seconds: u64,
        /// Counts from the end of the run before instead of keeping phase.
        #[schema(required = false)]
        fixed_delay: bool,
        #[serde(flatten)]
        bounds: Bounds,
    },
    /// Once.
    OneShot {
        /// When; now, if left out.
        #[schema(required = false, value_type = String, format = DateTime,
            example = "2026-12-01T09:00:00Z")]
        at: Timestamp,
    },
}

/// From when, until when and how often a recurring schedule fires.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Bounds {
    /// No slot is before this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    start_at: Option<Timestamp>,
    /// No slot is after this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    end_at: Option<Timestamp>,
    /// At most this many slots fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    max_runs: Option<u64>,
}

impl From<&chronos_core::Schedule> for Schedule {
    fn from(schedule: &chronos_core::Schedule) -> Self {
        let bounds = Bounds {
            start_at: schedule.start_at(),
            end_at: schedule.end_at(),
            max_runs: schedule.max_runs().map(u64::from),
        };
        match schedule.cadence() {
            Cadence::Cron(cron) => Self::Cron {
                expression: cron.expression().into(),
                timezone: cron.zone().name().into(),
                bounds,
            },
            Cadence::Interval(interval) => Self::Interval {
                seconds: interval.every().as_secs(),
                fixed_delay: schedule.counts_from_end(),
                bounds,
            },
            Cadence::OneShot(at) => Self::OneShot { at: *at },
        }
    }
}

/// A schedule as it is asked for: flat, so that every field can be named when it is wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    expression: Option<String>,
    timezone: Option<String>,
    seconds: Option<u64>,
    fixed_delay: Option<bool>,
    at: Option<Timestamp>,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    max_runs: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Cron,
    Interval,
    OneShot,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Interval => "interval",
            Self::OneShot => "one_shot",
        }
    }
}

impl Asked {
    /// A single slot, now.
    pub(crate) fn at_once() -> Self {
        Self {
            kind: Kind::OneShot,
            expression: None,
            timezone: None,
            seconds: None,
            fixed_delay: None,
            at: None,
            start_at: None,
            end_at: None,
            max_runs: None,
        }
    }

    /// The schedule that is asked for; an interval is counted from `now`.
    pub(crate) fn read(
        self,
        zone: Zone,
        now: Timestamp,
    ) -> Result<chronos_core::Schedule, FieldError> {
        self.refuse_strays()?;
        let mut schedule = self.cadence(zone, now)?;
        let refused = |field: &'static str| move |error: Error| FieldError::new(field, error);
        if let Some(start) = self.start_at {
            schedule = schedule.starting_at(start).map_err(refused("start_at"))?;
        }
        if let Some(end) = self.end_at {
            schedule = schedule.ending_at(end).map_err(refused("end_at"))?;
        }
        if let Some(runs) = self.max_runs {
            schedule = schedule.at_most(runs).map_err(refused("max_runs"))?;
        }
        Ok(schedule)
    }

    fn cadence(&self, zone: Zone, now: Timestamp) -> Result<chronos_core::Schedule, FieldError> {
        let refused = |field: &'static str| move |error: Error| FieldError::new(field, error);
        match self.kind {
            Kind::Cron => {
                let accepted = "a cron expression such as \"0 9 * * 1-5\"";
                let expression = self.expression.as_deref();
                let expression =
                    expression.ok_or_else(|| FieldError::missing("expression", accepted))?;
                let zone = match self.timezone.as_deref() {
                    None => zone,
                    Some(name) => {
                        let zone = Zone::parse(name);
                        zone.map_err(|error| FieldError::new("timezone", error))?
                    }
                };
                let cron = Cron::parse(expression, zone);
                let cron = cron.map_err(|error| FieldError::new("expression", error))?;
                Ok(Cadence::Cron(cron).into())
            }
            Kind::Interval => {
                let accepted = "whole seconds, from 1 second to 100 years";
                let seconds =
                    self.seconds.ok_or_else(|| FieldError::missing("seconds", accepted))?;
                let every = Duration::from_secs(seconds);
                let schedule = if self.fixed_delay == Some(true) {
                    chronos_core::Schedule::fixed_delay(every, now)
                } else {
                    chronos_core::Schedule::interval(every, now)
                };
                schedule.map_err(refused("seconds"))
            }
            Kind::OneShot => Ok(chronos_core::Schedule::one_shot(self.at.unwrap_or(now))),
        }
    }

    /// Refuses fields that say nothing about a schedule of this kind.
    fn refuse_strays(&self) -> Result<(), FieldError> {
        for (field, is_given, kind) in [
            ("expression", self.expression.is_some(), Kind::Cron),
            ("timezone", self.timezone.is_some(), Kind::Cron),
            ("seconds", self.seconds.is_some(), Kind::Interval),
            ("fixed_delay", self.fixed_delay.is_some(), Kind::Interval),
            ("at", self.at.is_some(), Kind::OneShot),
        ] {
            if is_given && kind != self.kind {
                let (of, is) = (kind.name(), self.kind.name());
                let detail = format!("it belongs to schedules of type {of}, and this is {is}");
                return Err(FieldError::new(field, detail));
            }
        }
        Ok(())
    }
}
