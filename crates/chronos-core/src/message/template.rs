//! Templates: text with gaps that the firing fills, checked when they are written; nothing is evaluated.

use std::borrow::Cow;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, JobId, Timestamp};

/// What a message job says: something for people, something for programs, or both.
///
/// A placeholder stands between double braces, such as `{{slot}}`. What it stands for is put in its place as
/// it is, and looked at no further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    text: Option<Box<str>>,
    /// A JSON document in the shortest form of its own, so that placeholders stand in strings alone and are
    /// not written with escapes.
    structured: Option<Box<str>>,
}

/// What a template may leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The id of the job.
    ScheduleId,
    /// The name of the job.
    JobName,
    /// The nominal time that fires.
    Slot,
    /// When it fires.
    Now,
    /// How many missed slots this firing stands for.
    MissedCount,
}

/// What the placeholders of a template stand for at one firing.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// The job.
    pub job: JobId,
    /// Its name.
    pub name: &'a str,
    /// The nominal time that fires.
    pub slot: Timestamp,
    /// When it fires.
    pub now: Timestamp,
    /// How many missed slots this firing stands for.
    pub missed: u64,
}

impl Template {
    /// More bytes of text, or of JSON, are refused.
    pub const MAX_BYTES: usize = 16 * 1024;
    /// More placeholders are refused: each may grow to the length of a name.
    pub const MAX_PLACEHOLDERS: usize = 64;

    /// A template of these two parts, of which one may be missing.
    pub fn new(text: Option<&str>, structured: Option<&Value>) -> Result<Self, Error> {
        if text.is_none() && structured.is_none() {
            let problem = "it says nothing; give it text, structured or both";
            return Err(refusal("template", problem.into()));
        }
        if let Some(text) = text {
            within("template.text", text.len())?;
            check("template.text", text, &mut 0)?;
        }
        let structured = structured.map(|document| {
            let field = "template.structured";
            check_document(document, &mut 0)?;
            let written = serde_json::to_string(document);
            let written = written.map_err(|error| refusal(field, error.to_string()))?;
            within(field, written.len()).map(|()| written.into())
        });
        Ok(Self { text: text.map(Into::into), structured: structured.transpose()? })
    }

    /// What is said to people, with its placeholders.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The JSON document that is said to programs, with its placeholders.
    #[must_use]
    pub fn structured(&self) -> Option<&str> {
        self.structured.as_deref()
    }

    /// Whether it asks for this.
    #[must_use]
    pub fn mentions(&self, placeholder: Placeholder) -> bool {
        let parts = [self.text(), self.structured()].into_iter().flatten();
        parts.flat_map(parts_of).any(|part| part == Part::Gap(placeholder.as_str()))
    }

    pub(super) fn render_text(&self, occasion: &Occasion<'_>) -> Option<Box<str>> {
        self.text().map(|text| fill(text, |placeholder| occasion.value(placeholder)))
    }

    pub(super) fn render_structured(&self, occasion: &Occasion<'_>) -> Option<Box<str>> {
        let written = |placeholder| escaped(occasion.value(placeholder));
        self.structured().map(|document| fill(document, written))
    }
}

impl Placeholder {
    /// Every placeholder.
    pub const ALL: [Self; 5] =
        [Self::ScheduleId, Self::JobName, Self::Slot, Self::Now, Self::MissedCount];

    /// The placeholder as it is written between the braces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScheduleId => "schedule_id",
            Self::JobName => "job_name",
            Self::Slot => "slot",
            Self::Now => "now",
            Self::MissedCount => "missed_count",
        }
    }

    /// The placeholder of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|placeholder| placeholder.as_str() == name)
    }
}

impl<'a> Occasion<'a> {
    fn value(&self, placeholder: Placeholder) -> Cow<'a, str> {
        match placeholder {
            Placeholder::ScheduleId => self.job.to_string().into(),
            Placeholder::JobName => self.name.into(),
            Placeholder::Slot => self.slot.to_string().into(),
            Placeholder::Now => self.now.to_string().into(),
            Placeholder::MissedCount => self.missed.to_string().into(),
        }
    }
}

/// A stretch of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<'a> {
    Words(&'a str),
    /// What stands between double braces.
    Gap(&'a str),
    /// Double braces that are never closed, and what follows them.
    Open(&'a str),
}

/// The stretches of a template, in order.
fn parts_of(template: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        let Some(inside) = rest.strip_prefix("{{") else {
            let end = rest.find("{{").unwrap_or(rest.len());
            let (words, after) = rest.split_at(end);
            rest = after;
            return (!words.is_empty()).then_some(Part::Words(words));
        };
        let Some((name, after)) = inside.split_once("}}") else {
            rest = "";
            return Some(Part::Open(inside));
        };
        rest = after;
        Some(Part::Gap(name.trim_matches(' ')))
    })
}

/// Refuses what could not be filled.
fn check(field: &'static str, template: &str, count: &mut usize) -> Result<(), Error> {
    for part in parts_of(template) {
        match part {
            Part::Words(_) => {}
            Part::Open(rest) => {
                let rest: String = rest.chars().take(20).collect();
                return Err(refusal(field, format!("\"{{{{{rest}\" has no closing \"}}}}\"")));
            }
            Part::Gap(name) if Placeholder::parse(name).is_none() => {
                let name: String = name.chars().take(64).collect();
                let problem = format!("unknown placeholder {name:?}; use {}", accepted());
                return Err(refusal(field, problem));
            }
            Part::Gap(_) => *count += 1,
        }
    }
    if *count > Template::MAX_PLACEHOLDERS {
        let most = Template::MAX_PLACEHOLDERS;
        return Err(refusal(field, format!("it has more than {most} placeholders")));
    }
    Ok(())
}

fn check_document(document: &Value, count: &mut usize) -> Result<(), Error> {
    let field = "template.structured";
    match document {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => check(field, text, count),
        Value::Array(items) => items.iter().try_for_each(|item| check_document(item, count)),
        Value::Object(entries) => entries.iter().try_for_each(|(key, item)| {
            if key.contains("{{") {
                let key: String = key.chars().take(64).collect();
                let problem = format!("the key {key:?} has a placeholder; use them in values");
                return Err(refusal(field, problem));
            }
            check_document(item, count)
        }),
    }
}

fn within(field: &'static str, bytes: usize) -> Result<(), Error> {
    let most = Template::MAX_BYTES;
    if bytes > most {
        return Err(refusal(field, format!("it has {bytes} bytes; use at most {most}")));
    }
    Ok(())
}

/// The placeholders that there are, in words.
fn accepted() -> String {
    let names = Placeholder::ALL.map(|placeholder| format!("{{{{{}}}}}", placeholder.as_str()));
    names.join(", ")
}

fn refusal(field: &'static str, problem: String) -> Error {
    Error::Message { field, problem }
}

fn fill<'a>(template: &str, value: impl Fn(Placeholder) -> Cow<'a, str>) -> Box<str> {
    let mut filled = String::with_capacity(template.len() + 64);
    for part in parts_of(template) {
        match part {
            Part::Words(words) => filled.push_str(words),
            Part::Gap(name) => {
                if let Some(placeholder) = Placeholder::parse(name) {
                    filled.push_str(&value(placeholder));
                }
            }
            // No template that was accepted has one.
            Part::Open(rest) => filled.push_str(rest),
        }
    }
    filled.into()
}

/// The value as it is written inside a string of JSON.
fn escaped(value: Cow<'_, str>) -> Cow<'_, str> {
    let plain = value.chars().try_for_each(|letter| match letter {
        '"' | '\\' | '\0'..='\u{1f}' => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    if plain.is_continue() {
        return value;
    }
    let quoted = Value::from(value.as_ref()).to_string();
    let inside = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    Cow::Owned(inside.to_owned())
}

#[cfg(test)]
mod tests;
