//! Looking up hosts: an address out of reach is never given to whoever connects.
//!
//! The check is made on the very addresses that are then connected to. Checked before, a name could
//! mean something else by the time of the connection.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::http::{OutOfReach, Reach};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A name that is not found within this time is not found.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks hosts up, and keeps what is out of reach to itself.
#[derive(Clone, Debug)]
pub(super) struct Resolver(pub(super) Arc<Reach>);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0));
            let found = tokio::time::timeout(PATIENCE, found).await.map_err(|_| {
                io::Error::new(io::ErrorKind::TimedOut, "the name was not found in time")
            })??;
            Ok(within_reach(&reach, name.as_str(), found)?)
        })
    }
}

/// The addresses that may be connected to; an error when there is none.
fn within_reach(
    reach: &Reach,
    host: &str,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Addrs, OutOfReach> {
    let (mut admitted, mut refused) = (Vec::new(), None);
    for address in found {
        match reach.check(host, address.ip()) {
            Ok(()) => admitted.push(address),
            Err(out_of_reach) => refused = Some(out_of_reach),
        }
    }
    match refused {
        Some(out_of_reach) if admitted.is_empty() => Err(out_of_reach),
        _ => Ok(Box::new(admitted.into_iter())),
    }
}

/// Why a request was not sent, if that is because its host is out of reach.
pub(super) fn out_of_reach(error: &reqwest::Error) -> Option<&OutOfReach> {
    let mut cause: &dyn Error = error;
    loop {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        cause = cause.source()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(addresses: &[&str]) -> impl Iterator<Item = SocketAddr> {
        let parsed = addresses.iter().map(|address| format!("{address}:0").parse().unwrap());
        parsed.collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn of_a_host_with_public_and_private_addresses_only_the_public_are_tried() {
        let reach = Reach::public([]);
        let mixed = found(&["10.0.0.1", "8.8.8.8", "[::1]"]);
        let admitted: Vec<_> = within_reach(&reach, "mixed", mixed).unwrap().collect();
        assert_eq!(admitted, found(&["8.8.8.8"]).collect::<Vec<_>>());
        let refused = within_reach(&reach, "inside", found(&["10.0.0.1"])).err().unwrap();
        assert_eq!(refused.host, "inside");
        assert_eq!(within_reach(&reach, "nobody", found(&[])).unwrap().count(), 0);
    }
    #[tokio::test]
    async fn a_connection_to_a_name_that_means_this_machine_is_not_made() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let request =
            |reach| super::super::client(&Arc::new(reach), PATIENCE).unwrap().get(&url).send();
        let error = request(Reach::public([])).await.unwrap_err();
        assert_eq!(out_of_reach(&error).unwrap().host, "localhost", "{error:?}");
        let allowed = Reach::public(["127.0.0.0/8".parse().unwrap()]);
        tokio::select! {
            accepted = listener.accept() => assert!(accepted.is_ok()),
            answered = request(allowed) => panic!("{answered:?}"),
        }
    }
}
