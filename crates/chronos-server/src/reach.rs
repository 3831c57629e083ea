//! Reach at the edge: a job that could only ever be refused is refused while someone looks.
//!
//! What a name means shows when it is looked up, so the guard that counts is in the connector.

use std::net::IpAddr;

use chronos_core::Http;
use chronos_core::http::Reach;

/// What is wrong with the request's URL and what to do about it, if it is out of reach.
pub(crate) fn check(reach: &Reach, http: &Http) -> Result<(), String> {
    reach.check_url(http.url()).map_err(|refused| {
        if refused.denied {
            return format!("{refused}; use another host or port");
        }
        // The rule that lets it through names the address that it stands for.
        let address = refused.host.parse::<IpAddr>().map(|address| address.to_canonical());
        let host = address.map_or_else(|_| refused.host.clone(), |address| address.to_string());
        format!("{refused}; use a public one, or serve with --allow-target {host}")
    })
}
