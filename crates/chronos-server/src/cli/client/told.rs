//! Executions as the REST API tells them, with what their targets answered.

use std::io::Write;
use std::time::Duration;

use chronos_core::Timestamp;
use serde::Deserialize;

use super::execution::status_style;
use crate::cli::wall_clock::WallClock;
use crate::cli::{Error, span};
use crate::text::on_one_line;

/// What is read of an execution to show it to people.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    pub(super) id: String,
    pub(super) job_id: String,
    pub(super) scheduled_for: Timestamp,
    pub(super) status: String,
    pub(super) attempt: u32,
    trigger: String,
    reason: Option<String>,
    finished_at: Option<Timestamp>,
    duration_ms: Option<u64>,
    response_code: Option<u16>,
    response_time_ms: Option<u64>,
    response_body: Option<String>,
    response_body_base64: Option<String>,
    #[serde(default)]
    response_truncated: bool,
    pub(super) error: Option<String>,
    log: Option<String>,
}

impl Told {
    /// An execution of an answer.
    pub(super) fn read(told: &serde_json::Value) -> Result<Self, Error> {
        Self::deserialize(told).map_err(|error| {
            Error::Daemon(format!("the daemon tells of an execution in another way: {error}"))
        })
    }

    /// Writes everything that was captured: a line about how it went, then what was said.
    pub(super) fn write(&self, clock: &WallClock, out: &mut dyn Write) -> Result<(), Error> {
        let (status, style) = (on_one_line(&self.status), status_style(&self.status));
        let when = clock.brief(self.finished_at.unwrap_or(self.scheduled_for));
        let (notes, id) = (self.notes(), on_one_line(&self.id));
        writeln!(out, "{when}  {style}{status}{style:#}  {id}  {}", on_one_line(&notes))?;
        if let Some(error) = &self.error {
            writeln!(out, "  error: {}", on_one_line(error))?;
        }
        write_lines("log", self.log.as_deref(), out)?;
        write_lines("body", self.response_body.as_deref(), out)?;
        if let Some(bytes) = &self.response_body_base64 {
            writeln!(out, "  body, in base64: {}", on_one_line(bytes))?;
        }
        if self.response_truncated {
            writeln!(out, "  the body went on; this is its beginning")?;
        }
        Ok(())
    }

    /// Which attempt it was, what it was for, and how long it and its answer took.
    fn notes(&self) -> String {
        let took = |millis| span::took(Duration::from_millis(millis));
        let mut notes = vec![format!("attempt {}", self.attempt)];
        if self.trigger != "schedule" {
            notes.push(self.trigger.replace('_', " "));
        }
        notes.extend(self.reason.as_ref().map(|reason| reason.replace('_', " ")));
        if let Some(code) = self.response_code {
            let after = self.response_time_ms.map(|millis| format!(" after {}", took(millis)));
            notes.push(format!("HTTP {code}{}", after.unwrap_or_default()));
        }
        notes.extend(self.duration_ms.map(|millis| format!("took {}", took(millis))));
        notes.join(", ")
    }
}

/// Text of several lines, each on a line of its own that it cannot leave.
fn write_lines(name: &str, text: Option<&str>, out: &mut dyn Write) -> Result<(), Error> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    writeln!(out, "  {name}:")?;
    for line in text.lines() {
        writeln!(out, "    {}", on_one_line(line))?;
    }
    Ok(())
}
