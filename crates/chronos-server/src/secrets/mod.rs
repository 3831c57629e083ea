//! Secrets of jobs at the edge: sealed as they come in, masked as they are told.

mod header;
mod key;
mod keys;
mod reseal;

use chronos_core::http::{Header, Http, Sealed};
use chronos_core::job::Target;
use chronos_core::{Error, JobId, JobSpec, SubscriptionId};
use chronos_engine::http::{KeyError, Keyring, Purpose};

pub(crate) use header::{HeaderValue, SecretText, told};
pub(crate) use key::Key;
pub use key::KeyFileError;
pub(crate) use keys::Keys;
pub(crate) use reseal::Resealer;

/// What a secret is told as; sent back, it stands for the secret that the job has.
pub(crate) const MASK: &str = "********";

/// What the secrets of a request are sealed with, and those that its job has.
#[derive(Clone, Copy)]
pub(crate) struct Safe<'a> {
    keyring: Option<&'a dyn Keyring>,
    job: JobId,
    part: Part,
    /// What is requested until now, if anything is.
    before: Option<&'a Http>,
}

/// Which request of a job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What its slots do.
    Target,
    /// Where notices about it go.
    Webhook,
    /// Where a subscription's events go; its id stands in the place of a job's.
    Subscription,
}

impl<'a> Safe<'a> {
    /// The safe of this part of a job, which asks for this until now, if it is there.
    pub(crate) fn new(
        part: Part,
        keyring: Option<&'a dyn Keyring>,
        job: JobId,
        before: Option<&'a JobSpec>,
    ) -> Self {
        Self { keyring, job, part, before: before.and_then(|spec| http_of(part, spec)) }
    }

    /// The safe of a subscription, whose events go here until now, if it is there.
    pub(crate) fn of_subscription(
        keyring: Option<&'a dyn Keyring>,
        id: SubscriptionId,
        before: Option<&'a Http>,
    ) -> Self {
        let job = JobId::from_bytes(*id.as_bytes());
        Self { keyring, job, part: Part::Subscription, before }
    }

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
            let had = self.before.and_then(|before| before.headers().iter().find(has));
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
            chronos_core::http::signing_keys(secret)?;
            let sealed = self.seal("signing_secret", Purpose::Signing, secret)?;
            return Ok(http.signed_with_secret(sealed));
        }
        let had = self.before.and_then(Http::signing).and_then(|value| value.sealed());
        let sealed = had.ok_or_else(|| nothing_to_keep("signing_secret", "signing_secret"))?;
        if self.is_at_home(&http) { Ok(http.signed_with_secret(sealed.clone())) } else { Ok(http) }
    }

    fn seal(
        &self,
        field: &'static str,
        purpose: Purpose<'_>,
        secret: &str,
    ) -> Result<Sealed, Error> {
        let purpose = match (self.part, purpose) {
            (Part::Webhook, Purpose::Header(name)) => Purpose::NoticeHeader(name),
            (Part::Webhook, Purpose::Signing) => Purpose::NoticeSigning,
            (Part::Subscription, Purpose::Header(name)) => Purpose::PushHeader(name),
            (Part::Subscription, Purpose::Signing) => Purpose::PushSigning,
            (_, purpose) => purpose,
        };
        let keyring = self.keyring.ok_or(KeyError::NoKey);
        let sealed = keyring.and_then(|keyring| keyring.seal(self.job, purpose, secret));
        sealed.map_err(|error| Error::Http { field, problem: error.to_string() })
    }

    /// Whether the request goes where the job's requests went before.
    fn is_at_home(&self, http: &Http) -> bool {
        self.before.is_some_and(|before| before.url().origin() == http.url().origin())
    }
}

/// A URL as those are told who may see the job and not what its query holds.
pub(crate) fn without_query(url: &str) -> String {
    match url.split_once('?') {
        None => url.into(),
        Some((path, _)) => format!("{path}?{MASK}"),
    }
}

fn nothing_to_keep(field: &'static str, name: &str) -> Error {
    let problem =
        format!("{name} is given as {MASK}, and there is no secret to keep; use its value");
    Error::Http { field, problem }
}

fn http_of(part: Part, spec: &JobSpec) -> Option<&Http> {
    match (part, &spec.target) {
        (Part::Target, Target::Http(http)) => Some(http),
        (Part::Target, Target::Handler { .. } | Target::Message(_)) | (Part::Subscription, _) => {
            None
        }
        (Part::Webhook, _) => spec.notify.as_ref()?.webhook.as_ref(),
    }
}

/// The secrets that a job lost because its requests go elsewhere now: headers, and `signing_secret`; those
/// of its webhook as `notify.signing_secret` and the like.
pub(crate) fn dropped(before: &JobSpec, after: &JobSpec) -> Vec<String> {
    let webhook = dropped_of(Part::Webhook, before, after);
    let mut names = dropped_of(Part::Target, before, after);
    names.extend(webhook.into_iter().map(|name| format!("notify.{name}")));
    names
}

fn dropped_of(part: Part, before: &JobSpec, after: &JobSpec) -> Vec<String> {
    match (http_of(part, before), http_of(part, after)) {
        (Some(before), Some(after)) => dropped_on_the_way(before, after),
        _ => Vec::new(),
    }
}

/// The secrets that a request lost because it goes elsewhere now.
pub(crate) fn dropped_on_the_way(before: &Http, after: &Http) -> Vec<String> {
    if after.url().origin() == before.url().origin() {
        return Vec::new();
    }
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
