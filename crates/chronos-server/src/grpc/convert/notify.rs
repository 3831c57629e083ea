//! Who is told about a job's runs, and of what.

use std::collections::HashMap;

use chronos_core::http::Reach;
use chronos_core::notice::{Kind, Notify};

use super::time::{duration, span};
use crate::grpc::refusal::Refusal;
use crate::notify::Asked;
use crate::proto;
use crate::secrets::{self, HeaderValue, MASK, Safe};

/// What was asked for.
pub(super) fn read(asked: proto::Notify, reach: &Reach, safe: Safe<'_>) -> Result<Notify, Refusal> {
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    let plain = asked.headers.into_iter();
    let plain = plain.map(|(name, value)| (name, HeaderValue::Plain(value)));
    let secret = asked.secret_headers.into_iter();
    let secret = secret.map(|(name, secret)| (name, HeaderValue::Secret { secret }));
    let after = asked.overdue_after.map(|sent| span("overdue_after", sent)).transpose()?;
    let asked = Asked {
        url: given(asked.url),
        headers: plain.chain(secret).collect(),
        signing_secret: given(asked.signing_secret),
        on: asked.on.map(|on| on.kinds),
        overdue_after: after,
    };
    asked.read(reach, safe).map_err(|(field, problem)| Refusal::of(field, problem))
}

impl From<&Notify> for proto::Notify {
    fn from(notify: &Notify) -> Self {
        let (mut headers, mut secret_headers) = (HashMap::new(), HashMap::new());
        let webhook = notify.webhook.as_ref();
        for (name, value) in webhook.map(secrets::told).unwrap_or_default() {
            match value {
                HeaderValue::Plain(value) => headers.insert(name, value),
                HeaderValue::Secret { secret } => secret_headers.insert(name, secret),
            };
        }
        let signing = webhook.and_then(|webhook| webhook.signing());
        let kinds = notify.on.kinds().map(Kind::as_str).map(Into::into).collect();
        Self {
            url: webhook.map(|webhook| webhook.url().as_str().into()).unwrap_or_default(),
            headers,
            secret_headers,
            signing_secret: signing.map(|_| MASK.into()).unwrap_or_default(),
            on: Some(proto::NoticeKinds { kinds }),
            overdue_after: notify.on.overdue.map(duration),
        }
    }
}
