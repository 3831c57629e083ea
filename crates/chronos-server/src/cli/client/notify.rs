//! Who is told about a job's runs, as JSON and as flags.

use std::collections::BTreeMap;
use std::time::Duration;

use chronos_core::notice::Kind;
use serde::{Deserialize, Serialize};

use super::spec_flags::{header, read_secret};
use super::time::{duration, to_duration};
use crate::cli::{Error, args, span};
use crate::proto;
use crate::seconds::Seconds;
use crate::secrets::{HeaderValue, SecretText};

/// Who is told about a job's runs and of what, with the names of the REST API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notify {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, HeaderValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signing_secret: Option<SecretText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overdue_after_seconds: Option<Seconds>,
}

impl Notify {
    /// In one line, without anything that may be a secret.
    pub(super) fn in_words(&self) -> String {
        let on = self.on.as_deref().map(|on| on.join(", "));
        let on = on.unwrap_or_else(|| "failure, recovery".into());
        let after = self.overdue_after_seconds;
        let after = after.map(|Seconds(after)| format!(" after {}", span::took(after)));
        match (&self.url, on.as_str()) {
            (_, "") => "nothing is told".into(),
            (None, on) => format!("the daemon's webhook, of {on}{}", after.unwrap_or_default()),
            (Some(url), on) => format!("{url}, of {on}{}", after.unwrap_or_default()),
        }
    }
}

impl From<Notify> for proto::Notify {
    fn from(notify: Notify) -> Self {
        let mut wire = Self {
            url: notify.url.unwrap_or_default(),
            signing_secret: notify.signing_secret.map(|secret| secret.0).unwrap_or_default(),
            on: notify.on.map(|kinds| proto::NoticeKinds { kinds }),
            overdue_after: notify.overdue_after_seconds.map(|Seconds(it)| to_duration(it)),
            ..Self::default()
        };
        for (name, value) in notify.headers {
            match value {
                HeaderValue::Plain(value) => wire.headers.insert(name, value),
                HeaderValue::Secret { secret } => wire.secret_headers.insert(name, secret),
            };
        }
        wire
    }
}

impl From<&proto::Notify> for Notify {
    fn from(wire: &proto::Notify) -> Self {
        let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let plain = wire.headers.iter();
        let plain = plain.map(|(name, value)| (name.clone(), HeaderValue::Plain(value.clone())));
        let secret = wire
            .secret_headers
            .iter()
            .map(|(name, secret)| (name.clone(), HeaderValue::Secret { secret: secret.clone() }));
        Self {
            url: said(&wire.url),
            headers: plain.chain(secret).collect(),
            signing_secret: said(&wire.signing_secret).map(SecretText),
            on: wire.on.as_ref().map(|on| on.kinds.clone()),
            overdue_after_seconds: duration(wire.overdue_after.as_ref()).map(Seconds),
        }
    }
}

/// Who is told about runs that fail for good, recover or are overdue.
#[derive(Debug, Default, PartialEq, clap::Args)]
pub(super) struct NotifyFlags {
    /// Tell this webhook about the job's runs [default: the daemon's, if it has one]
    #[arg(id = "notify_url", long = "notify", value_name = "URL", help_heading = "Notices")]
    url: Option<String>,
    /// What to tell: any of failure, recovery and overdue, or none [default: failure,recovery]
    #[arg(id = "notify_on", long = "notify-on", value_name = "KINDS", value_delimiter = ',', value_parser = kind, help_heading = "Notices")]
    on: Vec<String>,
    /// How long after its time a run is overdue that has not begun [default: 5m]
    #[arg(id = "notify_overdue_after", long = "notify-overdue-after", value_name = "SPAN", value_parser = args::span, help_heading = "Notices")]
    overdue_after: Option<Duration>,
    /// A header of notices; may be repeated
    #[arg(id = "notify_header", long = "notify-header", value_name = "NAME:VALUE", value_parser = header, help_heading = "Notices")]
    header: Vec<(String, String)>,
    /// A header of notices whose value is stored encrypted and shown to nobody; NAME:@FILE reads a file,
    /// NAME:@- standard input
    #[arg(id = "notify_secret_header", long = "notify-secret-header", value_name = "NAME:VALUE", value_parser = header, help_heading = "Notices")]
    secret_header: Vec<(String, String)>,
    /// Sign notices as Standard Webhooks has it, with whsec_…; @FILE reads a file, @- standard input
    #[arg(
        id = "notify_signing_secret",
        long = "notify-signing-secret",
        value_name = "SECRET",
        help_heading = "Notices"
    )]
    signing_secret: Option<String>,
}

/// Nothing is told.
const NONE: &str = "none";

fn kind(text: &str) -> Result<String, String> {
    if text == NONE || Kind::parse(text).is_some() {
        return Ok(text.into());
    }
    Err(format!("\"{text}\" is not accepted; use failure, recovery, overdue or none"))
}

impl NotifyFlags {
    /// Puts the flags over what the job says.
    pub(super) fn set(&self, notify: &mut Option<Notify>) -> Result<(), Error> {
        if *self == Self::default() {
            return Ok(());
        }
        let notify = notify.get_or_insert_default();
        notify.url = self.url.clone().or(notify.url.take());
        for (name, value) in &self.header {
            notify.headers.insert(name.clone(), HeaderValue::Plain(value.clone()));
        }
        for (name, value) in &self.secret_header {
            let secret = read_secret("--notify-secret-header", value)?;
            notify.headers.insert(name.clone(), HeaderValue::Secret { secret });
        }
        if let Some(text) = &self.signing_secret {
            let secret = read_secret("--notify-signing-secret", text)?;
            notify.signing_secret = Some(SecretText(secret));
        }
        if !self.on.is_empty() {
            let none = self.on.iter().any(|kind| kind == NONE);
            if none && self.on.len() > 1 {
                let problem = "none stands alone; use it or the others";
                return Err(Error::input("--notify-on", &problem));
            }
            let kinds = if none { Vec::new() } else { self.on.clone() };
            // How long a run may wait says nothing where nobody is told of it.
            let overdue = kinds.iter().any(|kind| kind == Kind::Overdue.as_str());
            notify.overdue_after_seconds = notify.overdue_after_seconds.filter(|_| overdue);
            notify.on = Some(kinds);
        }
        let after = self.overdue_after.map(Seconds);
        notify.overdue_after_seconds = after.or(notify.overdue_after_seconds);
        Ok(())
    }
}
