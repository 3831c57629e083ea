//! Reach: a scheduler connects to nothing that its operator keeps out of reach.

use chronos_core::http::{Denied, Reach, Rule};
use chronos_engine::http::Limits;
use chronos_engine::{Http, SchedulerConfig, SchedulerService};

use super::limits::Lab as Engines;
use super::server::{Answer, Server};
use super::{LONG, Lab, lasting, seldom};

async fn calling(url: &str, rules: &[&str]) -> Lab {
    let rules = rules.iter().map(|rule| rule.parse::<Rule>().unwrap());
    within(url, Reach::public(rules)).await
}

async fn within(url: &str, reach: Reach) -> Lab {
    let config = SchedulerConfig { reach, ..SchedulerConfig::default() };
    let scheduler = SchedulerService::new(config).unwrap();
    let request = Http::new(url).unwrap();
    scheduler.schedule(seldom().http(request).retries(3)).await.unwrap();
    scheduler.start().await.unwrap();
    Lab(scheduler)
}

#[tokio::test]
async fn this_machine_is_out_of_reach_unless_it_is_allowed() {
    let server = Server::answering(Answer::ok("")).await;
    let url = server.url("/");
    let by_name = url.replace("127.0.0.1", "localhost");
    for url in [&url, &by_name] {
        // No retry: trying again would not help.
        let refused = calling(url, &["10.0.0.0/8"]).await.run_once().await;
        let why = lasting(&refused);
        assert!(why.contains("is not public, and nobody allowed it"), "{why}");
    }
    assert_eq!(server.seen().requests.len(), 0);
    for (url, rule) in [(&url, "127.0.0.1"), (&url, "127.0.0.0/8"), (&by_name, "localhost")] {
        assert_eq!(calling(url, &[rule]).await.run_once().await.status(), "SUCCESS", "{rule}");
    }
}

#[tokio::test]
async fn what_is_out_of_reach_tells_nothing_about_its_ports() {
    let open = Server::answering(Answer::ok("")).await;
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let mut told = Vec::new();
    for url in [&open.url("/"), &closed] {
        told.push(lasting(&calling(url, &[]).await.run_once().await));
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(open.seen().requests.len(), 0);
}

#[tokio::test]
async fn what_is_denied_is_not_called_by_any_name_and_its_neighbour_is() {
    let (denied, neighbour) =
        (Server::answering(Answer::ok("")).await, Server::answering(Answer::ok("")).await);
    let everything = Reach::everything().without(Denied::listener(denied.address));
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"] {
        let url = denied.url("/").replace("127.0.0.1", host);
        let why = lasting(&within(&url, everything.clone()).await.run_once().await);
        assert!(why.ends_with("are denied here"), "{url}: {why}");
    }
    assert_eq!(denied.seen().requests.len(), 0);
    let by_name = neighbour.url("/").replace("127.0.0.1", "localhost");
    for url in [neighbour.url("/"), by_name] {
        let run = within(&url, everything.clone()).await.run_once().await;
        assert_eq!(run.status(), "SUCCESS", "{run:?}");
    }
}

#[tokio::test]
async fn a_run_records_where_its_request_went() {
    let server = Server::answering(Answer::ok("")).await;
    let by_name = format!("http://localhost:{}/hook?token=hunter2", server.address.port());
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    for (url, address) in [
        (server.url("/hook?token=hunter2"), server.address),
        (by_name, server.address),
        (format!("http://{closed}/"), closed),
        (format!("http://localhost:{}/", closed.port()), closed),
    ] {
        let run = Lab::calling(Http::new(&url).unwrap()).await.run_once().await;
        let log = run.run().and_then(|run| run.log.clone()).unwrap();
        assert!(log.starts_with("called ") && log.contains(&address.to_string()), "{url}: {log}");
        assert!(log.ends_with(&format!(", url sha256 {}\n", digest(&url))), "{url}: {log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
}

/// The first half of the URL's digest, in hexadecimal.
fn digest(url: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, url.as_bytes());
    let half = digest.as_ref().first_chunk().copied().map(u128::from_be_bytes).unwrap();
    format!("{half:032x}")
}

#[tokio::test]
async fn a_run_whose_request_is_refused_records_where_it_would_have_gone() {
    let server = Server::answering(Answer::ok("")).await;
    let port = server.address.port();
    let public = || Reach::public([]);
    let without = |what: &str| Reach::everything().without([what.parse().unwrap()]);
    let others = || without(&format!("[::1]:{port}")).without(Denied::listener(server.address));
    for (host, reach) in [
        // Refused by what the URL says, and by what its name turns out to mean.
        ("127.0.0.1", public()),
        ("[::1]", public()),
        ("10.1.2.3", public()),
        ("localhost", public()),
        ("metadata.google.internal", public()),
        ("denied.example", without("denied.example")),
        ("127.0.0.1", others()),
        ("localhost", others()),
    ] {
        let lab = Engines::reaching(reach, Limits::default());
        let url = format!("http://{host}:{port}/hook?token=hunter2");
        let job = lab.run(1, 1, "bob", &url).await;
        let over = async {
            loop {
                let mut runs = lab.store.executions(job, None, 10).await.unwrap();
                if runs.iter().all(|run| !run.is_live()) {
                    break runs.remove(0);
                }
                tokio::task::yield_now().await;
            }
        };
        let run = tokio::time::timeout(LONG, over).await.unwrap();
        let why = lasting(&run);
        assert!(why.contains("nobody allowed it") || why.contains("denied here"), "{url}: {why}");
        let log = run.run().and_then(|run| run.log.clone()).unwrap();
        let expected = format!("refused {host}:{port} for bob, url sha256 {}\n", digest(&url));
        assert_eq!(*log, *expected, "{url}");
    }
    assert_eq!(server.seen().requests.len(), 0);
}
