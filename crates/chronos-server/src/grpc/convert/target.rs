//! Targets: what a slot does.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chronos_core::Error;
use chronos_core::http::{Http, Method, Reach};
use chronos_core::job::Target;
use chronos_core::message::Template;

use super::time::{duration, span};
use crate::grpc::refusal::Refusal;
use crate::proto;
use crate::proto::target::Kind;
use crate::reach;
use crate::secrets::{self, HeaderValue, MASK, Safe};

/// The target that was asked for; `handlers` are the names that a handler may have, and requests go
/// no further than `reach`.
pub(crate) fn read(
    asked: proto::Target,
    handlers: &[Arc<str>],
    reach: &Reach,
    safe: Safe<'_>,
) -> Result<Target, Refusal> {
    match asked.kind.ok_or_else(|| Refusal::missing("kind", "http, message or handler"))? {
        Kind::Handler(handler) => self::handler(&handler.name, handlers),
        Kind::Message(message) => self::message(&message).map(Target::from),
        Kind::Http(http) => {
            let http = self::http(http, reach, safe).map_err(|refusal| refusal.within("http"))?;
            Ok(http.into())
        }
    }
}

/// A job whose handler is not here would only ever fail, so it is refused while someone looks.
fn handler(name: &str, handlers: &[Arc<str>]) -> Result<Target, Refusal> {
    if handlers.iter().any(|known| **known == *name) {
        return Ok(Target::Handler { name: name.into() });
    }
    let known = match handlers {
        [] => "none is".into(),
        handlers => format!("there are {}", handlers.join(", ")),
    };
    let problem = format!("no handler is registered under \"{name}\"; {known}");
    Err(Refusal::of("handler.name", problem))
}

fn message(asked: &proto::MessageTemplate) -> Result<Template, Refusal> {
    let text = Some(asked.text.as_str()).filter(|text| !text.is_empty());
    let structured = match asked.structured.as_str() {
        "" => None,
        json => Some(serde_json::from_str(json).map_err(|error| {
            Refusal::of("message.structured", format!("it is no JSON: {error}"))
        })?),
    };
    Template::new(text, structured.as_ref()).map_err(|error| match error {
        Error::Message { field, problem } => {
            let field = field.strip_prefix("template").unwrap_or(field);
            Refusal::of(format!("message{field}"), problem)
        }
        other => Refusal::of("message", other.to_string()),
    })
}

fn http(asked: proto::Http, reach: &Reach, safe: Safe<'_>) -> Result<Http, Refusal> {
    let mut http = Http::new(&asked.url).map_err(refused)?;
    reach::check(reach, &http).map_err(|problem| Refusal::of("url", problem))?;
    if !asked.method.is_empty() {
        let method = Method::parse(&asked.method).map_err(refused)?;
        http = http.with_method(method).map_err(refused)?;
    }
    // A map has no order of its own, and the same request must always be the same job.
    for (name, value) in BTreeMap::from_iter(asked.headers) {
        http = safe.header(http, &name, &HeaderValue::Plain(value)).map_err(refused)?;
    }
    for (name, secret) in BTreeMap::from_iter(asked.secret_headers) {
        http = safe.header(http, &name, &HeaderValue::Secret { secret }).map_err(refused)?;
    }
    if !asked.signing_secret.is_empty() {
        http = safe.signed(http, &asked.signing_secret).map_err(refused)?;
    }
    if let Some(timeout) = asked.timeout {
        http = http.with_timeout(span("timeout", timeout)?).map_err(refused)?;
    }
    let connect = asked.connect_timeout.map(|sent| span("connect_timeout", sent)).transpose()?;
    http = http.with_connect_timeout(connect).map_err(refused)?;
    let first =
        asked.first_byte_timeout.map(|sent| span("first_byte_timeout", sent)).transpose()?;
    http = http.with_first_byte_timeout(first).map_err(refused)?;
    let statuses = asked.expected_statuses.into_iter();
    // One that no number of two bytes holds is refused like any other that is too large.
    let statuses = statuses.map(|status| u16::try_from(status).unwrap_or(u16::MAX));
    http = http.with_expected(statuses).map_err(refused)?;
    http.with_body(asked.body).map_err(refused)
}

fn refused(error: Error) -> Refusal {
    match error {
        Error::Http { field, problem } => Refusal::of(field, problem),
        other => Refusal::of("", other.to_string()),
    }
}

impl From<&Http> for proto::Http {
    fn from(http: &Http) -> Self {
        let (mut headers, mut secret_headers) = (HashMap::new(), HashMap::new());
        for (name, value) in secrets::told(http) {
            match value {
                HeaderValue::Plain(value) => headers.insert(name, value),
                HeaderValue::Secret { secret } => secret_headers.insert(name, secret),
            };
        }
        Self {
            method: http.method().as_str().into(),
            url: http.url().as_str().into(),
            headers,
            body: http.body().to_vec(),
            timeout: Some(duration(http.timeout())),
            expected_statuses: http.expected().iter().copied().map(u32::from).collect(),
            connect_timeout: http.connect_timeout().map(duration),
            first_byte_timeout: http.first_byte_timeout().map(duration),
            secret_headers,
            signing_secret: http.signing().map(|_| MASK.into()).unwrap_or_default(),
        }
    }
}

impl From<&Target> for proto::Target {
    fn from(target: &Target) -> Self {
        let kind = match target {
            Target::Handler { name } => Kind::Handler(proto::Handler { name: name.to_string() }),
            Target::Http(http) => Kind::Http(http.as_ref().into()),
            Target::Message(template) => Kind::Message(proto::MessageTemplate {
                text: template.text().unwrap_or_default().into(),
                structured: template.structured().unwrap_or_default().into(),
            }),
        };
        Self { kind: Some(kind) }
    }
}
