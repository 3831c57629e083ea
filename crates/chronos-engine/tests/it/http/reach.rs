//! Reach: a scheduler connects to nothing that its operator keeps out of reach.

use chronos_core::http::{Reach, Rule};
use chronos_engine::{Http, SchedulerConfig, SchedulerService};

use super::server::{Answer, Server};
use super::{Lab, lasting, seldom};

async fn calling(url: &str, rules: &[&str]) -> Lab {
    let rules = rules.iter().map(|rule| rule.parse::<Rule>().unwrap());
    let config = SchedulerConfig { reach: Reach::public(rules), ..SchedulerConfig::default() };
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
