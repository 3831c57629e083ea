//! Targets: what a slot does.

use std::sync::Arc;

use chronos_core::job::Target;

use crate::grpc::refusal::Refusal;
use crate::proto;
use crate::proto::target::Kind;

/// The target that was asked for; `handlers` are the names that a handler may have.
pub(crate) fn read(asked: proto::Target, handlers: &[Arc<str>]) -> Result<Target, Refusal> {
    match asked.kind.ok_or_else(|| Refusal::missing("kind", "http or handler"))? {
        Kind::Handler(handler) => self::handler(&handler.name, handlers),
        Kind::Http(_) => Err(Refusal::of("http", "not available in this build")),
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

impl From<&Target> for proto::Target {
    fn from(target: &Target) -> Self {
        let kind = match target {
            Target::Handler { name } => Kind::Handler(proto::Handler { name: name.to_string() }),
        };
        Self { kind: Some(kind) }
    }
}
