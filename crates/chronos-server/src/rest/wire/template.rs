//! Templates: what a message job says.

use chronos_core::Error;
use chronos_core::message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::problem::FieldError;

/// What a message job says. Between double braces may stand `schedule_id`, `job_name`, `slot`, `now` and
/// `missed_count`; what they stand for is put in their place as it is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Template {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "{{job_name}} is due: {{slot}}", max_length = 16384)]
    text: Option<String>,
    /// For programs: any JSON, with placeholders in its strings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>, example = json!({ "slot": "{{slot}}" }))]
    structured: Option<Box<RawValue>>,
}

impl From<&message::Template> for Template {
    fn from(template: &message::Template) -> Self {
        Self {
            text: template.text().map(Into::into),
            structured: template.structured().and_then(|json| serde_json::from_str(json).ok()),
        }
    }
}

/// A template as it is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    text: Option<String>,
    structured: Option<Value>,
}

/// The template that is asked for.
pub(crate) fn read(asked: Option<Asked>) -> Result<message::Template, FieldError> {
    let accepted = "an object with text, structured or both";
    let asked = asked.ok_or_else(|| FieldError::missing("target.template", accepted))?;
    let template = message::Template::new(asked.text.as_deref(), asked.structured.as_ref());
    template.map_err(refused)
}

/// The refusal of a template, by the field that the API knows it by.
pub(crate) fn refused(error: Error) -> FieldError {
    match error {
        Error::Message { field, problem } => FieldError::new(field_of(field), problem),
        other => FieldError::new("target.template", other),
    }
}

/// The field that an error of the domain speaks of.
pub(crate) fn field_of(field: &str) -> String {
    if field.starts_with("template") { format!("target.{field}") } else { field.into() }
}
