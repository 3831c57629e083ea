//! What belongs to this daemon, and that no job of it may call, whoever allows what is not public.

use std::net::SocketAddr;
use std::time::Duration;

use chronos_core::http::{Denied, Rule};
use chronos_store::PostgresConfig;
use url::Url;

/// A database whose name is not found within this time is known by its name alone.
const PATIENCE: Duration = Duration::from_secs(5);
const USUAL_PORT: u16 = 5_432;

/// Where this daemon answers, and where its database does.
pub(super) async fn denied(listener: SocketAddr, database: Option<&PostgresConfig>) -> Vec<Denied> {
    let mut denied = Denied::listener(listener);
    let Some((host, port)) = database.and_then(|database| address(&database.url)) else {
        return denied;
    };
    let found = tokio::net::lookup_host((host.as_str(), port));
    if let Ok(Ok(found)) = tokio::time::timeout(PATIENCE, found).await {
        denied.extend(found.flat_map(Denied::listener));
    }
    denied.extend(host.parse::<Rule>().map(|rule| Denied::at(rule, port)));
    denied
}

/// The host and the port of a database that is reached by them; nobody calls a socket in a directory.
fn address(url: &str) -> Option<(String, u16)> {
    let url = Url::parse(url).ok()?;
    // Parameters take the place of what stands before them.
    let named = |name: &str| {
        let pairs = url.query_pairs().filter(|(given, _)| given == name);
        pairs.last().map(|(_, value)| value.into_owned())
    };
    let host = named("hostaddr").or_else(|| named("host"));
    let host = host.or_else(|| url.host_str().map(|host| host.trim_matches(['[', ']']).into()))?;
    let port = named("port").and_then(|port| port.parse().ok());
    let port = port.or_else(|| url.port()).unwrap_or(USUAL_PORT);
    let is_socket =
        host.is_empty() || host.contains('/') || host.to_ascii_lowercase().contains("%2f");
    (!is_socket).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_known_by_its_host_and_port() {
        for (url, expected) in [
            ("postgres://u:p@db.internal/x", Some(("db.internal", 5_432))),
            ("postgres://u@db.internal:6432/x?sslmode=disable", Some(("db.internal", 6_432))),
            ("postgres://u@[::1]:6432/x", Some(("::1", 6_432))),
            ("postgres:///x?host=10.0.0.5&port=7000", Some(("10.0.0.5", 7_000))),
            ("postgres://u@db/x?hostaddr=10.0.0.5", Some(("10.0.0.5", 5_432))),
            ("postgres://u@%2Fvar%2Frun/x", None),
            ("postgres:///x?host=/var/run", None),
        ] {
            let expected = expected.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(address(url), expected, "{url}");
        }
    }
}
