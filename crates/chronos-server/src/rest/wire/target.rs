//! Targets: what a slot does.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronos_core::Error;
use chronos_core::http::{Http, Method, Reach};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;

use super::template::{self, Template};
use crate::problem::FieldError;
use crate::reach;
use crate::seconds::Seconds;
use crate::secrets::{self, HeaderValue, MASK, Safe, SecretText};

/// What a slot does.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Target {
    /// Calls an HTTP endpoint; the job's payload is the body.
    Http(HttpTarget),
    /// Calls the Rust handler that the server registered under this name.
    Handler {
        /// The handler's name.
        name: String,
    },
    /// Emits a message event in the step that fires the slot.
    Message {
        /// What it says.
        template: Template,
    },
}

/// A request to an HTTP endpoint, and which answers to it are a success.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct HttpTarget {
    /// Where the endpoint is.
    #[schema(example = "https://example.com/reports", max_length = 4096)]
    url: String,
    /// GET, POST, PUT, PATCH, DELETE or HEAD.
    #[schema(required = false, default = "POST", example = "POST")]
    method: String,
    /// Sent as they are; those that the connection or the scheduler sets are refused.
    #[schema(required = false)]
    headers: BTreeMap<String, HeaderValue>,
    /// Signs each request as Standard Webhooks has it: `whsec_` and 24 to 64 bytes in base64. Stored
    /// encrypted and told as `********`, which keeps the one that the job has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")]
    signing_secret: Option<String>,
    /// How long the request may take in all.
    #[schema(required = false, value_type = f64, default = 30, minimum = 0.001, maximum = 3600)]
    timeout_seconds: Seconds,
    /// How long connecting may take; 10 s if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0.001, maximum = 3600)]
    connect_timeout_seconds: Option<Seconds>,
    /// How long the answer may take to begin; as long as the request in all if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0.001, maximum = 3600)]
    first_byte_timeout_seconds: Option<Seconds>,
    /// The statuses that are a success; empty stands for 200 to 299.
    #[schema(required = false)]
    expected_statuses: Vec<u16>,
}

impl Target {
    /// Takes away what the query of its URL holds.
    pub(super) fn hide_query(&mut self) {
        match self {
            Self::Http(http) => http.url = secrets::without_query(&http.url),
            Self::Handler { .. } | Self::Message { .. } => {}
        }
    }
}

impl From<&chronos_core::job::Target> for Target {
    fn from(target: &chronos_core::job::Target) -> Self {
        match target {
            chronos_core::job::Target::Handler { name } => Self::Handler { name: name.to_string() },
            chronos_core::job::Target::Http(http) => Self::Http(http.as_ref().into()),
            chronos_core::job::Target::Message(template) => {
                Self::Message { template: template.as_ref().into() }
            }
        }
    }
}

impl From<&Http> for HttpTarget {
    fn from(http: &Http) -> Self {
        Self {
            url: http.url().as_str().into(),
            method: http.method().as_str().into(),
            headers: secrets::told(http),
            signing_secret: http.signing().map(|_| MASK.into()),
            timeout_seconds: http.timeout().into(),
            connect_timeout_seconds: http.connect_timeout().map(Into::into),
            first_byte_timeout_seconds: http.first_byte_timeout().map(Into::into),
            expected_statuses: http.expected().to_vec(),
        }
    }
}

/// The payload that gives the body of an http target again: JSON, or text as a string, or else base64.
pub(crate) fn payload(
    target: &chronos_core::job::Target,
) -> (Option<Box<RawValue>>, Option<String>) {
    let body = match target {
        chronos_core::job::Target::Http(http) => http.body(),
        chronos_core::job::Target::Handler { .. } | chronos_core::job::Target::Message(_) => {
            return (None, None);
        }
    };
    let Ok(text) = std::str::from_utf8(body) else {
        return (None, Some(STANDARD.encode(body)));
    };
    if text.is_empty() {
        return (None, None);
    }
    let json: Option<Box<RawValue>> = serde_json::from_str(text).ok();
    // What would not come back letter by letter is told as text.
    let json = json.filter(|json| json.get() == text && !text.starts_with('"') && text != "null");
    (json.or_else(|| to_raw_value(text).ok()), None)
}

/// The body that a payload stands for: text as it is, anything else as JSON.
pub(crate) fn body(
    payload: Option<&RawValue>,
    base64: Option<&str>,
) -> Result<Option<Vec<u8>>, FieldError> {
    match (payload.map(RawValue::get), base64) {
        (None, None) => Ok(None),
        (Some(text), None) if text.starts_with('"') => {
            let text: Option<String> = serde_json::from_str(text).ok();
            Ok(text.map(String::into_bytes))
        }
        (Some(json), None) => Ok(Some(json.as_bytes().to_vec())),
        (None, Some(text)) => STANDARD.decode(text).map(Some).map_err(|error| {
            FieldError::new("payload_base64", format!("{error}; use standard base64"))
        }),
        (Some(_), Some(_)) => {
            let problem = "there is a payload beside it; use one of the two";
            Err(FieldError::new("payload_base64", problem))
        }
    }
}

/// A target as it is asked for: flat, so that every field can be named when it is wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    #[serde(rename = "type")]
    kind: Kind,
    name: Option<String>,
    url: Option<String>,
    method: Option<String>,
    headers: Option<BTreeMap<String, HeaderValue>>,
    signing_secret: Option<SecretText>,
    timeout_seconds: Option<Seconds>,
    connect_timeout_seconds: Option<Seconds>,
    first_byte_timeout_seconds: Option<Seconds>,
    expected_statuses: Option<Vec<u16>>,
    template: Option<template::Asked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Http,
    Handler,
    Message,
}

impl Asked {
    /// The target that is asked for; `body` is what its job's payload says, or what the job had.
    pub(crate) fn read(
        self,
        body: Option<Vec<u8>>,
        handlers: &[Arc<str>],
        reach: &Reach,
        safe: Safe<'_>,
    ) -> Result<chronos_core::job::Target, FieldError> {
        self.refuse_strays()?;
        match self.kind {
            Kind::Http => {
                let http = self.http(body, safe)?;
                let checked = reach::check(reach, &http);
                checked.map_err(|problem| FieldError::new("target.url", problem))?;
                Ok(http.into())
            }
            Kind::Message if body.is_some() => {
                let problem = "a message has a template of its own; use it with http targets";
                Err(FieldError::new("payload", problem))
            }
            Kind::Message => Ok(template::read(self.template)?.into()),
            Kind::Handler if body.is_some() => {
                Err(FieldError::new("payload", "a handler is given none; use it with http targets"))
            }
            Kind::Handler => handler(self.name.as_deref(), handlers),
        }
    }

    fn http(self, body: Option<Vec<u8>>, safe: Safe<'_>) -> Result<Http, FieldError> {
        let accepted = "a URL such as https://example.com/path";
        let url = self.url.as_deref().ok_or_else(|| FieldError::missing("target.url", accepted))?;
        let mut http = Http::new(url).map_err(refused)?;
        if let Some(method) = &self.method {
            let method = Method::parse(method).map_err(refused)?;
            http = http.with_method(method).map_err(refused)?;
        }
        for (name, value) in self.headers.iter().flatten() {
            http = safe.header(http, name, value).map_err(refused)?;
        }
        if let Some(SecretText(secret)) = &self.signing_secret {
            http = safe.signed(http, secret).map_err(refused)?;
        }
        if let Some(Seconds(timeout)) = self.timeout_seconds {
            http = http.with_timeout(timeout).map_err(refused)?;
        }
        let connect = self.connect_timeout_seconds.map(|Seconds(timeout)| timeout);
        let first_byte = self.first_byte_timeout_seconds.map(|Seconds(timeout)| timeout);
        http = http.with_connect_timeout(connect).map_err(refused)?;
        http = http.with_first_byte_timeout(first_byte).map_err(refused)?;
        http = http.with_expected(self.expected_statuses.unwrap_or_default()).map_err(refused)?;
        http.with_body(body.unwrap_or_default()).map_err(refused)
    }

    /// Refuses fields that say nothing about a target of this kind.
    fn refuse_strays(&self) -> Result<(), FieldError> {
        for (field, is_given, kind) in [
            ("name", self.name.is_some(), Kind::Handler),
            ("url", self.url.is_some(), Kind::Http),
            ("method", self.method.is_some(), Kind::Http),
            ("headers", self.headers.is_some(), Kind::Http),
            ("signing_secret", self.signing_secret.is_some(), Kind::Http),
            ("timeout_seconds", self.timeout_seconds.is_some(), Kind::Http),
            ("connect_timeout_seconds", self.connect_timeout_seconds.is_some(), Kind::Http),
            ("first_byte_timeout_seconds", self.first_byte_timeout_seconds.is_some(), Kind::Http),
            ("expected_statuses", self.expected_statuses.is_some(), Kind::Http),
            ("template", self.template.is_some(), Kind::Message),
        ] {
            if is_given && kind != self.kind {
                let of = match kind {
                    Kind::Http => "http",
                    Kind::Handler => "handler",
                    Kind::Message => "message",
                };
                let field = format!("target.{field}");
                return Err(FieldError::new(field, format!("it belongs to targets of type {of}")));
            }
        }
        Ok(())
    }
}

/// A job whose handler is not here would only ever fail, so it is refused while someone looks.
fn handler(
    name: Option<&str>,
    handlers: &[Arc<str>],
) -> Result<chronos_core::job::Target, FieldError> {
    let known = match handlers {
        [] => "a target of type http: no handler is registered here".to_owned(),
        handlers => format!("one of {}", handlers.join(", ")),
    };
    let field = "target.name";
    let name = name.ok_or_else(|| FieldError::missing(field, known.clone()))?;
    if handlers.iter().any(|handler| **handler == *name) {
        return Ok(chronos_core::job::Target::Handler { name: name.into() });
    }
    let shown: String = name.chars().take(100).collect();
    Err(FieldError::new(field, format!("no handler is registered as {shown:?}; use {known}")))
}

fn refused(error: Error) -> FieldError {
    match error {
        Error::Http { field, problem } => FieldError::new(field_of(field), problem),
        other => FieldError::new("target", other),
    }
}

/// The field of a target that an error of the domain speaks of.
pub(crate) fn field_of(field: &str) -> String {
    match field {
        "body" => "payload".into(),
        "timeout" | "connect_timeout" | "first_byte_timeout" => format!("target.{field}_seconds"),
        field => format!("target.{field}"),
    }
}
