//! Who is told about a job's runs, and of what.

use std::collections::BTreeMap;

use chronos_core::http::Reach;
use chronos_core::notice::{self, Kind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::notify::Asked;
use crate::problem::FieldError;
use crate::seconds::Seconds;
use crate::secrets::{HeaderValue, MASK, Safe, SecretText, told, without_query};

/// Who is told about a job's runs, and of what.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "url": "https://example.com/alerts",
    "signing_secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "on": ["failure", "recovery", "overdue"],
    "overdue_after_seconds": 600
}))]
pub(crate) struct Notify {
    /// The webhook that is told; the one that the daemon has for all jobs if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    url: Option<String>,
    /// Sent as they are; those that the connection or the scheduler sets are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<BTreeMap<String, HeaderValue>>,
    /// Signs each notice as Standard Webhooks has it: `whsec_` and 24 to 64 bytes in base64. Stored
    /// encrypted and told as `********`, which keeps the one that the job has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    signing_secret: Option<SecretText>,
    /// What is told: any of `failure`, `recovery` and `overdue`; the first two if left out, and nothing if
    /// empty.
    on: Option<Vec<String>>,
    /// How long after its time a run is overdue that has not begun; 300 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 1, maximum = 31_622_400)]
    overdue_after_seconds: Option<Seconds>,
}

impl Notify {
    /// Takes away what the query of its URL holds.
    pub(super) fn hide_query(&mut self) {
        self.url = self.url.as_deref().map(without_query);
    }

    pub(crate) fn read(
        self,
        reach: &Reach,
        safe: Safe<'_>,
    ) -> Result<Box<notice::Notify>, FieldError> {
        let asked = Asked {
            url: self.url,
            headers: self.headers.unwrap_or_default(),
            signing_secret: self.signing_secret.map(|SecretText(secret)| secret),
            on: self.on,
            overdue_after: self.overdue_after_seconds.map(|Seconds(after)| after),
        };
        let read = asked.read(reach, safe).map(Box::new);
        read.map_err(|(field, problem)| FieldError::new(field_of(field), problem))
    }
}

/// The field that an error of the domain speaks of.
pub(crate) fn field_of(field: &str) -> String {
    match field {
        "" => "notify".into(),
        "overdue_after" => "notify.overdue_after_seconds".into(),
        field => format!("notify.{field}"),
    }
}

impl From<&notice::Notify> for Notify {
    fn from(notify: &notice::Notify) -> Self {
        let webhook = notify.webhook.as_ref();
        let signing = webhook.and_then(|webhook| webhook.signing());
        Self {
            url: webhook.map(|webhook| webhook.url().as_str().into()),
            headers: webhook.map(told).filter(|headers| !headers.is_empty()),
            signing_secret: signing.map(|_| SecretText(MASK.into())),
            on: Some(notify.on.kinds().map(Kind::as_str).map(Into::into).collect()),
            overdue_after_seconds: notify.on.overdue.map(Into::into),
        }
    }
}
