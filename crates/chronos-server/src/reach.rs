//! Reach at the edge: a job that could only ever be refused is refused while someone looks.
//!
//! What a name means shows when it is looked up, so the guard that counts is in the connector.

use chronos_core::Http;
use chronos_core::http::Reach;

/// What is wrong with the request's URL and what to do about it, if it is out of reach.
pub(crate) fn check(reach: &Reach, http: &Http) -> Result<(), String> {
    reach.check_url(http.url()).map_err(|refused| {
        let host = &refused.host;
        format!("{refused}; use a public one, or serve with --allow-target {host}")
    })
}
