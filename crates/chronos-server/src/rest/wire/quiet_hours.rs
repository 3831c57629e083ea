//! Quiet-hours policies as JSON: windows of the week, and dates apart from it.

use std::collections::BTreeMap;

use chronos_core::policy::quiet_hours::{self, Date, WeekdaySet};
use chronos_core::schedule::Zone;
use chronos_core::{PolicyId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Errors;
use crate::problem::FieldError;

/// A quiet-hours policy to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "name": "nights and holidays",
    "timezone": "Europe/Berlin",
    "windows": [{"days": ["mon", "tue", "wed", "thu", "fri"], "start": "22:00", "end": "07:00"}],
    "exceptions": [{"date": "2026-12-24", "quiet": true}, {"date": "2026-12-31", "quiet": false}],
    "mode": "skip"
}))]
pub(in crate::rest) struct NewQuietHours {
    /// What people call it, unlike any other policy.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// The IANA time zone whose clocks windows and dates are read on; the server's default if left out.
    #[schema(example = "Europe/Berlin")]
    timezone: Option<String>,
    /// When it is quiet in each week.
    #[schema(max_items = 50)]
    windows: Option<Vec<Window>>,
    /// Dates that are otherwise.
    #[schema(max_items = 400)]
    exceptions: Option<Vec<Exception>>,
    /// `skip` if left out.
    mode: Option<Mode>,
}

/// From one time to another on each of some weekdays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::rest) struct Window {
    /// The days that it starts on; every day if left out.
    #[schema(value_type = Option<Vec<String>>, example = json!(["sat", "sun"]))]
    days: Option<Vec<String>>,
    /// The first quiet minute.
    #[schema(example = "22:00")]
    start: String,
    /// The first minute that is no longer quiet; before the start, it is one of the next day. `24:00` ends
    /// with the day.
    #[schema(example = "07:00")]
    end: String,
}

/// A date that is otherwise than its weekday.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::rest) struct Exception {
    #[schema(format = Date, example = "2026-12-24")]
    date: String,
    /// Whether all of it is quiet; else no window starts on it.
    quiet: bool,
}

/// What happens to the slots of recurring jobs; a one-time job always waits for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::rest) enum Mode {
    /// They are skipped.
    Skip,
    /// The first runs when the quiet ends, the others are skipped.
    Defer,
}

/// A quiet-hours policy.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct QuietHours {
    #[schema(format = "uuid")]
    id: String,
    /// Grows with every edit; the `ETag` of the policy.
    version: u64,
    #[serde(flatten)]
    said: Said,
    /// Whose policy it is: its owner and admins change it.
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// What a policy says: the fields of a new one, with everything that was left out.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(in crate::rest) struct Said {
    name: String,
    #[schema(example = "Europe/Berlin")]
    timezone: String,
    windows: Vec<Window>,
    exceptions: Vec<Exception>,
    mode: Mode,
}

impl From<&quiet_hours::QuietHours> for Said {
    fn from(policy: &quiet_hours::QuietHours) -> Self {
        let window = |window: &quiet_hours::Window| Window {
            days: Some(window.days().names().map(Into::into).collect()),
            start: window.start(),
            end: window.end(),
        };
        let exception = |(date, kind): (&Date, &quiet_hours::Exception)| Exception {
            date: date.to_string(),
            quiet: *kind == quiet_hours::Exception::Quiet,
        };
        Self {
            name: policy.name.to_string(),
            timezone: policy.zone.name().into(),
            windows: policy.windows.iter().map(window).collect(),
            exceptions: policy.exceptions.iter().map(exception).collect(),
            mode: match policy.mode {
                quiet_hours::Mode::Skip => Mode::Skip,
                quiet_hours::Mode::Defer => Mode::Defer,
            },
        }
    }
}

impl From<&quiet_hours::QuietHours> for QuietHours {
    fn from(policy: &quiet_hours::QuietHours) -> Self {
        Self {
            id: policy.id.to_string(),
            version: policy.version,
            said: policy.into(),
            created_by: policy.owner.to_string(),
            created_at: policy.created_at,
            updated_at: policy.updated_at,
        }
    }
}

impl NewQuietHours {
    /// The policy that is asked for, as one of this id and owner made at `now`; `zone` is what it is read in
    /// where it does not say.
    pub(in crate::rest) fn read(
        self,
        (id, owner): (PolicyId, &str),
        zone: Zone,
        now: Timestamp,
    ) -> Result<quiet_hours::QuietHours, Vec<FieldError>> {
        let mut errors = Errors::default();
        let zone = self.timezone.as_deref().map_or(Ok(zone), Zone::parse);
        let zone = errors.note(zone.map_err(|error| FieldError::new("timezone", error)));
        let windows = self.windows.unwrap_or_default().into_iter().enumerate();
        let windows: Vec<_> = windows
            .filter_map(|(place, window)| {
                let read =
                    window.read().map_err(|error| error.within(&format!("windows[{place}]")));
                errors.note(read)
            })
            .collect();
        let exceptions = errors.note(exceptions(self.exceptions.unwrap_or_default()));
        let mode = match self.mode {
            None | Some(Mode::Skip) => quiet_hours::Mode::Skip,
            Some(Mode::Defer) => quiet_hours::Mode::Defer,
        };
        let read = (|| {
            let policy = quiet_hours::QuietHours::new(id, &self.name, zone?, now);
            let (owner, exceptions) = (owner.into(), exceptions?);
            Some(quiet_hours::QuietHours { owner, windows, exceptions, mode, ..policy })
        })();
        if let Some(policy) = &read {
            errors.note(policy.validate().map_err(|error| super::spec::field_error(&error)));
        }
        errors.unless_any(read)
    }
}

impl Window {
    fn read(self) -> Result<quiet_hours::Window, FieldError> {
        let days = match &self.days {
            None => WeekdaySet::EVERY_DAY,
            Some(names) => WeekdaySet::parse(names.iter().map(String::as_str)).map_err(|name| {
                let shown: String = name.chars().take(30).collect();
                let problem =
                    format!("{shown:?} is no weekday; use mon, tue, wed, thu, fri, sat, sun");
                FieldError::new("days", problem)
            })?,
        };
        quiet_hours::Window::new(days, &self.start, &self.end)
            .map_err(|error| FieldError::new("", error))
    }
}

fn exceptions(asked: Vec<Exception>) -> Result<BTreeMap<Date, quiet_hours::Exception>, FieldError> {
    let mut exceptions = BTreeMap::new();
    for (place, Exception { date, quiet }) in asked.into_iter().enumerate() {
        let refused =
            |problem: String| FieldError::new(format!("exceptions[{place}].date"), problem);
        let shown: String = date.chars().take(30).collect();
        let read = Date::parse(&date)
            .ok_or_else(|| refused(format!("{shown:?} is no date; use one such as 2026-12-24")))?;
        let kind = if quiet { quiet_hours::Exception::Quiet } else { quiet_hours::Exception::Open };
        if exceptions.insert(read, kind).is_some() {
            return Err(refused(format!("{shown} comes twice; use each date once")));
        }
    }
    Ok(exceptions)
}
