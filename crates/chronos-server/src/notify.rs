//! Who is told about a job's runs and of what, read the same from REST and gRPC.

use std::collections::BTreeMap;
use std::time::Duration;

use chronos_core::http::Reach;
use chronos_core::notice::{Kind, Notify, Occasions};
use chronos_core::{Error, Http};

use crate::reach;
use crate::secrets::{HeaderValue, Safe};

/// What someone asks for, as far as it is given.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) url: Option<String>,
    pub(crate) headers: BTreeMap<String, HeaderValue>,
    pub(crate) signing_secret: Option<String>,
    pub(crate) on: Option<Vec<String>>,
    pub(crate) overdue_after: Option<Duration>,
}

/// A field of it that cannot be accepted, and why.
pub(crate) type Refused = (&'static str, String);

impl Asked {
    pub(crate) fn read(self, reach: &Reach, safe: Safe<'_>) -> Result<Notify, Refused> {
        let on = self.on.as_deref().map_or_else(|| Ok(None), |on| kinds(on).map(Some))?;
        let usual = || Occasions::default().kinds().collect();
        let on = Occasions::of(&on.unwrap_or_else(usual), self.overdue_after).map_err(refused)?;
        let notify = Notify { webhook: self.webhook(reach, safe)?, on };
        notify.validate().map_err(refused)?;
        Ok(notify)
    }

    fn webhook(&self, reach: &Reach, safe: Safe<'_>) -> Result<Option<Http>, Refused> {
        let Some(url) = &self.url else {
            let stray = match (&self.signing_secret, self.headers.is_empty()) {
                (Some(_), _) => "signing_secret",
                (None, false) => "headers",
                (None, true) => return Ok(None),
            };
            return Err((stray, "there is no webhook to send it to; use it with a url".into()));
        };
        let mut http = Http::new(url).map_err(refused)?;
        reach::check(reach, &http).map_err(|problem| ("url", problem))?;
        for (name, value) in &self.headers {
            http = safe.header(http, name, value).map_err(refused)?;
        }
        if let Some(secret) = &self.signing_secret {
            http = safe.signed(http, secret).map_err(refused)?;
        }
        Ok(Some(http))
    }
}

/// The kinds of these names.
pub(crate) fn kinds(names: &[String]) -> Result<Vec<Kind>, Refused> {
    let kind = |name: &String| {
        Kind::parse(name).ok_or_else(|| {
            let shown: String = name.chars().take(100).collect();
            ("on", format!("{shown:?} is not accepted; use failure, recovery and overdue"))
        })
    };
    names.iter().map(kind).collect()
}

pub(crate) fn refused(error: Error) -> Refused {
    match error {
        Error::Http { field, problem } | Error::Notify { field, problem } => (field, problem),
        other => ("", other.to_string()),
    }
}
