//! Targets as JSON: what a slot does, with the names of the REST API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time::{duration, to_duration};
use crate::proto;
use crate::proto::target::Kind;
use crate::seconds::Seconds;
use crate::secrets::{HeaderValue, SecretText};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Target {
    Http {
        url: String,
        #[serde(default = "post")]
        method: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, HeaderValue>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signing_secret: Option<SecretText>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<Seconds>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connect_timeout_seconds: Option<Seconds>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_byte_timeout_seconds: Option<Seconds>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        expected_statuses: Vec<u32>,
    },
    Handler {
        name: String,
    },
    Message {
        template: Template,
    },
}

/// What a message job says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Template {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) structured: Option<Value>,
}

pub(super) fn post() -> String {
    "POST".into()
}

impl Target {
    /// A request without anything that can be left out.
    pub(super) fn http(method: String, url: String) -> Self {
        Self::Http {
            url,
            method,
            headers: BTreeMap::new(),
            signing_secret: None,
            timeout_seconds: None,
            connect_timeout_seconds: None,
            first_byte_timeout_seconds: None,
            expected_statuses: Vec::new(),
        }
    }

    pub(super) fn into_proto(self, body: Vec<u8>) -> proto::Target {
        let wire = |seconds: Option<Seconds>| seconds.map(|seconds| to_duration(seconds.0));
        let kind = match self {
            Self::Http {
                url,
                method,
                headers,
                signing_secret,
                timeout_seconds,
                connect_timeout_seconds,
                first_byte_timeout_seconds,
                expected_statuses,
            } => {
                let mut http = proto::Http {
                    method,
                    url,
                    body,
                    timeout: wire(timeout_seconds),
                    connect_timeout: wire(connect_timeout_seconds),
                    first_byte_timeout: wire(first_byte_timeout_seconds),
                    expected_statuses,
                    signing_secret: signing_secret.map(|secret| secret.0).unwrap_or_default(),
                    ..proto::Http::default()
                };
                for (name, value) in headers {
                    match value {
                        HeaderValue::Plain(value) => http.headers.insert(name, value),
                        HeaderValue::Secret { secret } => http.secret_headers.insert(name, secret),
                    };
                }
                Kind::Http(http)
            }
            Self::Handler { name } => Kind::Handler(proto::Handler { name }),
            Self::Message { template: Template { text, structured } } => {
                let structured = structured.map(|json| json.to_string()).unwrap_or_default();
                let text = text.unwrap_or_default();
                Kind::Message(proto::MessageTemplate { text, structured })
            }
        };
        proto::Target { kind: Some(kind) }
    }
}

impl From<&Kind> for Target {
    fn from(kind: &Kind) -> Self {
        let http = match kind {
            Kind::Http(http) => http,
            Kind::Handler(handler) => return Self::Handler { name: handler.name.clone() },
            Kind::Message(message) => {
                let text = Some(message.text.clone()).filter(|text| !text.is_empty());
                let structured = serde_json::from_str(&message.structured).ok();
                return Self::Message { template: Template { text, structured } };
            }
        };
        let plain = http.headers.iter();
        let plain = plain.map(|(name, value)| (name.clone(), HeaderValue::Plain(value.clone())));
        let secret = http
            .secret_headers
            .iter()
            .map(|(name, secret)| (name.clone(), HeaderValue::Secret { secret: secret.clone() }));
        let signing_secret = Some(&http.signing_secret).filter(|secret| !secret.is_empty());
        Self::Http {
            url: http.url.clone(),
            method: http.method.clone(),
            headers: plain.chain(secret).collect(),
            signing_secret: signing_secret.cloned().map(SecretText),
            timeout_seconds: duration(http.timeout.as_ref()).map(Seconds),
            connect_timeout_seconds: duration(http.connect_timeout.as_ref()).map(Seconds),
            first_byte_timeout_seconds: duration(http.first_byte_timeout.as_ref()).map(Seconds),
            expected_statuses: http.expected_statuses.clone(),
        }
    }
}
