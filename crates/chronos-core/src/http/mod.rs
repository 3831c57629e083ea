//! The http target: a request that can be sent as it stands, because a bad one cannot be built.

mod headers;
mod method;
mod reach;
mod secret;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use crate::Error;
pub use headers::Header;
pub use method::Method;
pub use reach::{Denied, OutOfReach, Reach, Rule};
pub use secret::{Sealed, Value, signing_keys};

/// A request to an HTTP endpoint, and which answers to it are a success.
///
/// ```
/// # use chronos_core::http::{Http, Method};
/// # use std::time::Duration;
/// # fn main() -> Result<(), chronos_core::Error> {
/// let report = Http::new("https://example.com/reports?kind=daily")?
///     .with_method(Method::Put)?
///     .with_header("Authorization", "Bearer 4711")?
///     .with_body(r#"{"pages": 3}"#)?
///     .with_timeout(Duration::from_secs(10))?
///     .with_expected([200, 202])?;
/// assert!(report.expects(202) && !report.expects(204));
/// # Ok(()) }
/// ```
///
/// A request that takes longer than its timeout has failed in a way that may pass, like a lost
/// connection; the execution is `FAILED` and is retried. `TIMED_OUT` is an execution that ran over
/// the job's own `max_execution_time`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Http {
    method: Method,
    #[serde(serialize_with = "as_text")]
    url: Url,
    headers: Vec<Header>,
    body: Box<[u8]>,
    timeout: Duration,
    expected: Vec<u16>,
    connect_timeout: Option<Duration>,
    first_byte_timeout: Option<Duration>,
    signing: Option<Value>,
}

impl Http {
    /// Longer URLs are refused.
    pub const MAX_URL: usize = 4_096;
    /// More headers are refused.
    pub const MAX_HEADERS: usize = 64;
    /// A longer header, its name included, is refused.
    pub const MAX_HEADER: usize = 8 * 1024;
    /// Headers that are longer together are refused.
    pub const MAX_HEADERS_LENGTH: usize = 32 * 1024;
    /// Longer bodies are refused.
    pub const MAX_BODY: usize = 1024 * 1024;
    /// How long a request may take, unless it says otherwise.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
    /// Shorter timeouts are refused.
    pub const MIN_TIMEOUT: Duration = Duration::from_millis(1);
    /// Longer timeouts are refused.
    pub const MAX_TIMEOUT: Duration = Duration::from_hours(1);

    /// A POST to this URL without a body, which any status from 200 to 299 answers well.
    pub fn new(url: &str) -> Result<Self, Error> {
        Ok(Self {
            method: Method::Post,
            url: parse(url)?,
            headers: Vec::new(),
            body: Box::default(),
            timeout: Self::DEFAULT_TIMEOUT,
            expected: Vec::new(),
            connect_timeout: None,
            first_byte_timeout: None,
            signing: None,
        })
    }

    /// The same request with this method.
    pub fn with_method(self, method: Method) -> Result<Self, Error> {
        Self { method, ..self }.with_sendable_body()
    }

    /// The same request with one more header. The value is refused where it could end the header,
    /// the name where the connection or the scheduler itself has the say.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        self.headers.push(Header::new(name, value)?);
        headers::check(&self.headers)?;
        Ok(self)
    }

    /// The same request with one more header, whose value is a secret.
    pub fn with_secret_header(mut self, name: &str, value: Sealed) -> Result<Self, Error> {
        self.headers.push(Header::secret(name, value)?);
        headers::check(&self.headers)?;
        Ok(self)
    }

    /// The same request, signed as Standard Webhooks has it, with a secret such as
    /// `whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD`, or with two that have a space between them.
    pub fn signed_with(self, secret: &str) -> Result<Self, Error> {
        signing_keys(secret)?;
        Ok(Self { signing: Some(Value::Plain(secret.into())), ..self })
    }

    /// The same request, signed with a secret that only whoever sends it can open.
    #[must_use]
    pub fn signed_with_secret(self, secret: Sealed) -> Self {
        Self { signing: Some(Value::Sealed(secret)), ..self }
    }

    /// The same request with each secret sealed anew by `reseal`, which is told the name of the secret's
    /// header, or `None` for the signing secret; and whether it sealed any.
    pub fn resealed<E>(
        mut self,
        mut reseal: impl FnMut(Option<&str>, &Sealed) -> Result<Option<Sealed>, E>,
    ) -> Result<(Self, bool), E> {
        let mut any = false;
        let mut renew = |name: Option<&str>, value: &mut Value| {
            let sealed = value.sealed().map(|sealed| reseal(name, sealed)).transpose()?.flatten();
            if let Some(sealed) = sealed {
                *value = Value::Sealed(sealed);
                any = true;
            }
            Ok(())
        };
        for header in &mut self.headers {
            let name = header.name().to_owned();
            renew(Some(&name), header.value_mut())?;
        }
        self.signing.as_mut().map_or(Ok(()), |value| renew(None, value))?;
        Ok((self, any))
    }

    /// The same request with this body; an empty one is none.
    pub fn with_body(self, body: impl Into<Vec<u8>>) -> Result<Self, Error> {
        let body = body.into().into_boxed_slice();
        if body.len() > Self::MAX_BODY {
            let problem = format!("it has {} bytes; use at most {}", body.len(), Self::MAX_BODY);
            return Err(refusal("body", problem));
        }
        Self { body, ..self }.with_sendable_body()
    }

    /// The same request, given up after this long in all, from looking up the host to the end of
    /// the answer.
    pub fn with_timeout(self, timeout: Duration) -> Result<Self, Error> {
        in_range("timeout", timeout)?;
        Ok(Self { timeout, ..self })
    }

    /// The same request, given up when no connection is made for this long; `None` for the usual time.
    pub fn with_connect_timeout(self, timeout: Option<Duration>) -> Result<Self, Error> {
        timeout.map_or(Ok(()), |timeout| in_range("connect_timeout", timeout))?;
        Ok(Self { connect_timeout: timeout, ..self })
    }

    /// The same request, given up when no answer begins for this long; `None` leaves it to the time
    /// that the request has in all.
    pub fn with_first_byte_timeout(self, timeout: Option<Duration>) -> Result<Self, Error> {
        timeout.map_or(Ok(()), |timeout| in_range("first_byte_timeout", timeout))?;
        Ok(Self { first_byte_timeout: timeout, ..self })
    }

    /// The same request, which these statuses answer well and no others; none at all stand for 200
    /// to 299.
    pub fn with_expected(self, statuses: impl IntoIterator<Item = u16>) -> Result<Self, Error> {
        let mut expected = Vec::new();
        for status in statuses {
            if !(200..=599).contains(&status) {
                let problem = format!("{status} never answers a request; use 200 to 599");
                return Err(refusal("expected_statuses", problem));
            }
            if let Err(place) = expected.binary_search(&status) {
                expected.insert(place, status);
            }
        }
        Ok(Self { expected, ..self })
    }

    fn with_sendable_body(self) -> Result<Self, Error> {
        if !self.body.is_empty() && !self.method.has_body() {
            let problem = format!("a {} request carries none", self.method.as_str());
            return Err(refusal("body", problem));
        }
        Ok(self)
    }

    /// What is asked of the endpoint.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// Where the endpoint is, in its normal spelling.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The headers that the user asked for, in order.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// What the request is signed with, if it is.
    #[must_use]
    pub fn signing(&self) -> Option<&Value> {
        self.signing.as_ref()
    }

    /// The body; empty when there is none.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// How long the request may take in all.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How long connecting may take, if the request says so.
    #[must_use]
    pub fn connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout
    }

    /// How long the endpoint may take to begin its answer, if the request says so.
    #[must_use]
    pub fn first_byte_timeout(&self) -> Option<Duration> {
        self.first_byte_timeout
    }

    /// The statuses that are a success, in order; empty stands for 200 to 299.
    #[must_use]
    pub fn expected(&self) -> &[u16] {
        &self.expected
    }

    /// Whether an answer with this status is a success.
    #[must_use]
    pub fn expects(&self, status: u16) -> bool {
        if self.expected.is_empty() {
            return (200..300).contains(&status);
        }
        self.expected.binary_search(&status).is_ok()
    }
}

/// The URL, checked as parsed: its text has a thousand disguises. Never quoted in a refusal, because
/// it may hold secrets.
fn parse(text: &str) -> Result<Url, Error> {
    let refused = |problem: String| Err(refusal("url", problem));
    if text.len() > Http::MAX_URL {
        return refused(format!("it has {} bytes; use at most {}", text.len(), Http::MAX_URL));
    }
    // The parser would leave some of them out, and send another URL than was asked for.
    if text.chars().any(char::is_control) {
        return refused("it holds a control character; write it as %0A and the like".into());
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return refused(format!("{error}; use one such as https://example.com/path")),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refused(format!("its scheme is \"{}\"; use http or https", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("it holds a user name or password; use an Authorization header".into());
    }
    if url.port() == Some(0) {
        return refused("nothing listens on port 0; use 1 to 65535".into());
    }
    // Its normal spelling may be longer than what was given, and must be accepted again.
    if url.as_str().len() > Http::MAX_URL {
        return refused(format!("it has more than {} bytes when encoded", Http::MAX_URL));
    }
    Ok(url)
}

fn in_range(field: &'static str, timeout: Duration) -> Result<(), Error> {
    let (min, max) = (Http::MIN_TIMEOUT, Http::MAX_TIMEOUT);
    if (min..=max).contains(&timeout) {
        return Ok(());
    }
    Err(refusal(field, format!("it is {timeout:?}; use {min:?} to {max:?}")))
}

fn refusal(field: &'static str, problem: String) -> Error {
    Error::Http { field, problem }
}

fn as_text<S: Serializer>(url: &Url, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(url.as_str())
}

/// A request as it is stored: the same fields in the same order, none of them checked.
#[derive(Deserialize)]
struct Stored {
    method: Method,
    url: String,
    headers: Vec<Header>,
    body: Vec<u8>,
    timeout: Duration,
    expected: Vec<u16>,
    connect_timeout: Option<Duration>,
    first_byte_timeout: Option<Duration>,
    signing: Option<Value>,
}

impl TryFrom<Stored> for Http {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self, Error> {
        headers::check(&stored.headers)?;
        let http = Self { headers: stored.headers, ..Self::new(&stored.url)? };
        let http = match stored.signing {
            None => http,
            Some(Value::Plain(secret)) => http.signed_with(&secret)?,
            Some(Value::Sealed(secret)) => http.signed_with_secret(secret),
        };
        http.with_method(stored.method)?
            .with_body(stored.body)?
            .with_timeout(stored.timeout)?
            .with_connect_timeout(stored.connect_timeout)?
            .with_first_byte_timeout(stored.first_byte_timeout)?
            .with_expected(stored.expected)
    }
}
