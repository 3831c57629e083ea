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
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::trail::{self, Trail};

/// A name that is not found within this time is not found.
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds the addresses of a name.
type Lookup = fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

/// Looks hosts up, and keeps what is out of reach to itself.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    reach: Arc<Reach>,
    lookup: Lookup,
}

impl Resolver {
    /// A resolver that asks the machine.
    pub(super) fn new(reach: Arc<Reach>) -> Self {
        Self { reach, lookup }
    }
}

fn lookup(name: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
    Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { reach, lookup } = self.clone();
        let trail = Trail::current();
        Box::pin(async move {
            let found = lookup(name.as_str().to_owned());
            let found = tokio::time::timeout(PATIENCE, found).await.map_err(|_| {
                io::Error::new(io::ErrorKind::TimedOut, "the name was not found in time")
            })??;
            // Without a trail nobody knows the port, so whatever is denied at one is denied.
            let port = trail.as_ref().map_or(0, |trail| trail.port());
            let admitted = within_reach(&reach, name.as_str(), port, found.into_iter());
            match (&trail, &admitted) {
                (Some(trail), Ok(admitted)) => trail.lead(admitted),
                (Some(trail), Err(_)) => trail.lead_astray(),
                (None, _) => {}
            }
            Ok(Box::new(admitted?.into_iter()) as Addrs)
        })
    }
}

/// The addresses that may be connected to; an error when there is none.
fn within_reach(
    reach: &Reach,
    host: &str,
    port: u16,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, OutOfReach> {
    let (mut admitted, mut refused) = (Vec::new(), None);
    for address in found {
        match trail::check(reach, host, address.ip(), port) {
            Ok(()) => admitted.push(address),
            Err(out_of_reach) => refused = Some(out_of_reach),
        }
    }
    match refused {
        Some(out_of_reach) if admitted.is_empty() => Err(out_of_reach),
        _ => Ok(admitted),
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
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use futures::FutureExt;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::TcpListener;

    use super::*;

    fn found(addresses: &[&str]) -> impl Iterator<Item = SocketAddr> {
        let parsed = addresses.iter().map(|address| format!("{address}:0").parse().unwrap());
        parsed.collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn of_a_host_with_public_and_private_addresses_only_the_public_are_tried() {
        let reach = Reach::public([]);
        let mixed = found(&["10.0.0.1", "8.8.8.8", "[::1]"]);
        let admitted = within_reach(&reach, "mixed", 80, mixed).unwrap();
        assert_eq!(admitted, found(&["8.8.8.8"]).collect::<Vec<_>>());
        let refused = within_reach(&reach, "inside", 80, found(&["10.0.0.1"])).err().unwrap();
        assert_eq!(refused.host, "inside");
        assert_eq!(within_reach(&reach, "nobody", 80, found(&[])).unwrap().len(), 0);
    }

    /// Names whose first address may be called, and whose next ones may not.
    fn rebound(name: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let first = KNOWN.lock().unwrap().insert(name);
        let address = if first { "127.0.0.2:0" } else { "127.0.0.1:0" };
        Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
    }

    /// Names that all mean the same address.
    fn shared(_: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async { Ok(vec!["127.0.0.2:0".parse().unwrap()]) })
    }

    /// A client for 127.0.0.2 alone that looks names up like this.
    fn client(lookup: Lookup) -> reqwest::Client {
        let reach = Arc::new(Reach::public(["127.0.0.2".parse().unwrap()]));
        let resolver = Arc::new(Resolver { reach: reach.clone(), lookup });
        // The first client of a process chooses who does its cryptography.
        super::super::client(&reach, PATIENCE, 1).unwrap();
        super::super::builder(&reach, PATIENCE).dns_resolver(resolver).build().unwrap()
    }

    /// A listener that may be called, one at its port that may not, and the port.
    async fn neighbours() -> (TcpListener, TcpListener, u16) {
        let outside = TcpListener::bind("127.0.0.2:0").await.unwrap();
        let port = outside.local_addr().unwrap().port();
        let inside = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        (outside, inside, port)
    }

    #[tokio::test]
    async fn a_name_that_changes_its_meaning_leads_nowhere_else() {
        let (outside, inside, port) = neighbours().await;
        let client = client(rebound);
        let url = format!("http://rebound.example:{port}/");
        // Had it been looked up once to be checked and again to be called, this would be refused.
        tokio::select! {
            accepted = outside.accept() => assert!(accepted.is_ok()),
            answered = client.get(&url).send() => panic!("{answered:?}"),
        }
        let error = client.get(&url).send().await.unwrap_err();
        assert_eq!(out_of_reach(&error).unwrap().host, "rebound.example", "{error:?}");
        assert!(inside.accept().now_or_never().is_none(), "nobody came in");
    }

    /// Answers each request with the number of its connection and the host that it names; closes a
    /// connection when it is asked for `/last`.
    async fn answer(listener: TcpListener) {
        for number in 1.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let (mut line, mut last, mut host) = (String::new(), false, String::new());
                while stream.read_line(&mut line).await.unwrap() > 0 {
                    last |= line.starts_with("GET /last ");
                    if let Some(named) = line.strip_prefix("host: ") {
                        host = named.trim_end().to_owned();
                    }
                    if line == "\r\n" {
                        let body = format!("{number} {host}");
                        let end = if last { "close" } else { "keep-alive" };
                        let head = format!("content-length: {}\r\nconnection: {end}", body.len());
                        let text = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
                        stream.write_all(text.as_bytes()).await.unwrap();
                        if last {
                            return;
                        }
                    }
                    line.clear();
                }
            });
        }
    }

    async fn text(client: &reqwest::Client, url: String) -> reqwest::Result<String> {
        client.get(url).send().await?.text().await
    }

    #[tokio::test]
    async fn a_connection_serves_the_name_that_it_was_made_for_and_no_other() {
        let (outside, _inside, port) = neighbours().await;
        tokio::spawn(answer(outside));
        let client = client(shared);
        for (name, connection) in [("one", 1), ("one", 1), ("two", 2), ("one", 1), ("two", 2)] {
            let host = format!("{name}.example:{port}");
            let answered = text(&client, format!("http://{host}/")).await.unwrap();
            assert_eq!(answered, format!("{connection} {host}"));
        }
    }

    #[tokio::test]
    async fn a_kept_connection_leads_where_it_was_vetted_and_the_next_one_is_vetted_anew() {
        let (outside, inside, port) = neighbours().await;
        tokio::spawn(answer(outside));
        let client = client(rebound);
        let host = format!("moved.example:{port}");
        for path in ["first", "again", "last"] {
            let answered = text(&client, format!("http://{host}/{path}")).await.unwrap();
            assert_eq!(answered, format!("1 {host}"), "{path}");
        }
        let error = text(&client, format!("http://{host}/more")).await.unwrap_err();
        assert_eq!(out_of_reach(&error).unwrap().host, "moved.example", "{error:?}");
        assert!(inside.accept().now_or_never().is_none(), "nobody came in");
    }

    #[tokio::test]
    async fn a_connection_to_a_name_that_means_this_machine_is_not_made() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let request =
            |reach| super::super::client(&Arc::new(reach), PATIENCE, 1).unwrap().get(&url).send();
        let error = request(Reach::public([])).await.unwrap_err();
        assert_eq!(out_of_reach(&error).unwrap().host, "localhost", "{error:?}");
        let allowed = Reach::public(["127.0.0.0/8".parse().unwrap()]);
        tokio::select! {
            accepted = listener.accept() => assert!(accepted.is_ok()),
            answered = request(allowed) => panic!("{answered:?}"),
        }
    }
}
