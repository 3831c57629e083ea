//! Secrets of jobs at the edge: sealed as they come in, masked as they are told.

mod header;
mod key;

use chronos_core::http::{Header, Http, Sealed};
use chronos_core::job::Target;
use chronos_core::{Error, JobId, JobSpec};
use chronos_engine::http::{KeyError, Keyring, Purpose};

pub(crate) use header::{HeaderValue, SecretText, told};
pub(crate) use key::Key;
pub use key::KeyFileError;

/// What a secret is told as; sent back, it stands for the secret that the job has.
pub(crate) const MASK: &str = "********";

/// What the secrets of a request are sealed with, and those that its job has.
#[derive(Clone, Copy)]
pub(crate) struct Safe<'a> {
    pub(crate) keyring: Option<&'a dyn Keyring>,
    pub(crate) job: JobId,
    /// What the job asks for until now, if it is there.
    pub(crate) before: Option<&'a JobSpec>,
}

impl Safe<'_> {
    /// The request with one more header. A secret that the mask stands for stays, unless the request
    /// goes elsewhere now: whoever may change a job must not have its secrets sent to themselves.
    pub(crate) fn header(
        &self,
        http: Http,
        name: &str,
        value: &HeaderValue,
    ) -> Result<Http, Error> {
        let (text, is_secret) = match value {
            HeaderValue::Plain(text) => (text, false),
            HeaderValue::Secret { secret } => (secret, true),
        };
        if text == MASK {
            let has = |header: &&Header| header.name().eq_ignore_ascii_case(name);
            let had = self.http().and_then(|before| before.headers().iter().find(has));
            let Some(sealed) = had.and_then(|header| header.value().sealed()) else {
                return Err(nothing_to_keep("headers", name));
            };
            if !self.is_at_home(&http) {
                return Ok(http);
            }
            return http.with_secret_header(name, sealed.clone());
        }
        if !is_secret {
            return http.with_header(name, text);
        }
        // What could not be sent in the clear cannot be sent sealed.
        Header::new(name, text)?;
        http.with_secret_header(name, self.seal("headers", Purpose::Header(name), text)?)
    }

    /// The request, signed with this secret.
    pub(crate) fn signed(&self, http: Http, secret: &str) -> Result<Http, Error> {
        if secret != MASK {
            chronos_core::http::signing_key(secret)?;
            let sealed = self.seal("signing_secret", Purpose::Signing, secret)?;
            return Ok(http.signed_with_secret(sealed));
        }
        let had = self.http().and_then(Http::signing).and_then(|value| value.sealed());
        let sealed = had.ok_or_else(|| nothing_to_keep("signing_secret", "signing_secret"))?;
        if self.is_at_home(&http) { Ok(http.signed_with_secret(sealed.clone())) } else { Ok(http) }
    }

    fn seal(
        &self,
        field: &'static str,
        purpose: Purpose<'_>,
        secret: &str,
    ) -> Result<Sealed, Error> {
        let keyring = self.keyring.ok_or(KeyError::NoKey);
        let sealed = keyring.and_then(|keyring| keyring.seal(self.job, purpose, secret));
        sealed.map_err(|error| Error::Http { field, problem: error.to_string() })
    }

    fn http(&self) -> Option<&Http> {
        self.before.and_then(http_of)
    }

    /// Whether the request goes where the job's requests went before.
    fn is_at_home(&self, http: &Http) -> bool {
        self.http().is_some_and(|before| before.url().origin() == http.url().origin())
    }
}

fn nothing_to_keep(field: &'static str, name: &str) -> Error {
    let problem =
        format!("{name} is given as {MASK}, and there is no secret to keep; use its value");
    Error::Http { field, problem }
}

fn http_of(spec: &JobSpec) -> Option<&Http> {
    match &spec.target {
        Target::Http(http) => Some(http),
        Target::Handler { .. } => None,
    }
}

/// The secrets that a job lost because its requests go elsewhere now: headers, and `signing_secret`.
pub(crate) fn dropped(before: &JobSpec, after: &JobSpec) -> Vec<String> {
    let Some(before) = http_of(before) else {
        return Vec::new();
    };
    let after = http_of(after).filter(|after| after.url().origin() != before.url().origin());
    let Some(after) = after else {
        return Vec::new();
    };
    let is_kept = |lost: &Header| {
        after.headers().iter().any(|header| header.name().eq_ignore_ascii_case(lost.name()))
    };
    let secret = before.headers().iter().filter(|header| header.value().sealed().is_some());
    let mut names: Vec<String> =
        secret.filter(|header| !is_kept(header)).map(|header| header.name().into()).collect();
    if before.signing().is_some() && after.signing().is_none() {
        names.push("signing_secret".into());
    }
    names
}
