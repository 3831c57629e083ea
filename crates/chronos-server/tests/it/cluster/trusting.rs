//! What one node is told about accounts and keys, and what holds at the others then.

use std::time::Duration;

use chronos_pgtest::{Cluster, Durability, Stop};
use serde_json::{Value, json};

use super::nodes::{Database, Node, until_ready_is};
use super::proxy::Proxy;
use crate::auth::{PASSWORD, Someone, credentials};
use crate::client::house::Endpoint;
use crate::daemon::soon;
use crate::leaks::hex;
use crate::rest::text;

/// The same one at another node.
fn at(node: &Node, someone: &Someone) -> Someone {
    Someone { address: node.address, ..someone.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_logout_a_new_password_and_a_ban_hold_at_every_node_from_the_next_request_on() {
    let database = Database::fresh(Cluster::shared());
    let key = database.key("auth.key", 7);
    let flags = ["--auth-key-file", &key];
    let (one, other) = (database.node("a", &flags).await, database.node("b", &flags).await);
    let anyone = Someone { address: one.address, token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    let (_, bob_id) = ada.hire("bob", "user").await;
    let session = async || {
        let login = anyone.try_log_in("bob", PASSWORD).await.expect(200);
        let bob = anyone.with_token(text(&login["token"]));
        // It is known at the other node, which has seen it now, too.
        at(&other, &bob).get("/jobs").await.expect(200);
        (bob, login["refresh_token"].clone())
    };
    let is_out = async |bob: &Someone, refresh: &Value| {
        at(&other, bob).get("/jobs").await.refused(401);
        let refresh = json!({"refresh_token": refresh});
        at(&other, &anyone).post("/auth/refresh", &refresh).await.refused(401);
    };
    let (bob, refresh) = session().await;
    assert_eq!(bob.ask("POST", "/auth/logout").await.status, 204);
    is_out(&bob, &refresh).await;
    let (bob, refresh) = session().await;
    let program = bob.key(&["read"]).await;
    at(&other, &program).get("/jobs").await.expect(200);
    let change = json!({"current_password": PASSWORD, "new_password": "another horse battery"});
    bob.post("/auth/password", &change).await.expect(200);
    is_out(&bob, &refresh).await;
    at(&other, &anyone).try_log_in("bob", PASSWORD).await.refused(401);
    let back = json!({"password": PASSWORD});
    ada.patch(&format!("/users/{bob_id}"), &back).await.expect(200);
    let (bob, refresh) = session().await;
    let ban = json!({"disabled": true});
    at(&other, &ada).patch(&format!("/users/{bob_id}"), &ban).await.expect(200);
    bob.get("/jobs").await.refused(401);
    at(&other, &program).get("/jobs").await.refused(401);
    is_out(&bob, &refresh).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_job_of_a_node_calls_the_database_of_its_cluster() {
    let database = Database::fresh(Cluster::shared());
    let proxy = Proxy::to(database.cluster).await;
    let url = proxy.url(&database.name);
    let port = url.rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    let database = database.through(url);
    // Everything of this machine is allowed, and the database is denied all the same.
    let flags = ["--allow-target", "127.0.0.0/8", "--allow-target", "localhost"];
    let node = database.node("a", &flags).await;
    let local = Someone { address: node.address, token: None };
    let job = |host: &str, port: &str| {
        let url = format!("http://{host}:{port}/");
        json!({"target": {"type": "http", "url": url},
               "schedule": {"type": "one_shot", "at": "2096-01-01T00:00:00Z"}})
    };
    for host in ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]"] {
        let (field, problem) = local.post("/jobs", &job(host, &port)).await.refused(422);
        assert_eq!(field, "target.url", "{host}: {problem}");
        assert!(problem.contains("are denied here"), "{host}: {problem}");
    }
    local.post("/jobs", &job("127.0.0.1", "9")).await.expect(201);
    // What a name means shows when it is looked up.
    let named = local.post("/jobs", &job("localhost", &port)).await.expect(201);
    let run = local.ask("POST", &format!("/jobs/{}/run", text(&named["id"]))).await.expect(201);
    let path = format!("/executions/{}", text(&run["id"]));
    let ended = soon(async {
        loop {
            let run = local.get(&path).await.expect(200);
            if run["status"] == "FAILED" {
                return run;
            }
        }
    })
    .await;
    assert_eq!(ended["error"], "requests to localhost are denied here");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_seal_every_secret_anew_while_both_serve() {
    const JOBS: usize = 60;
    let database = Database::fresh(Cluster::shared());
    let endpoint = Endpoint::answering("200 OK");
    let (old, new) = (database.key("old.key", 1), database.key("new.key", 2));
    let mut node = database.node("a", &["--secret-key-file", &old]).await;
    let mut ids = Vec::new();
    for number in 0..JOBS {
        let job = json!({
            "name": format!("job {number}"),
            "schedule": {"type": "one_shot", "at": "2096-01-01T00:00:00Z"},
            "target": {"type": "http", "url": endpoint.url(),
                       "headers": {"X-Key": {"secret": format!("hunter {number}")}}},
        });
        let local = Someone { address: node.address, token: None };
        ids.push(text(&local.post("/jobs", &job).await.expect(201)["id"]).to_owned());
    }
    let sealed_with = |byte: u8| {
        let digest = <sha2::Sha256 as sha2::Digest>::digest([byte; 32]);
        let sealed = format!("v1.{}.", hex(&digest[..4]));
        let jobs = database.psql("SELECT j::text FROM chronos.jobs j");
        // A column of bytes is told in hexadecimal.
        jobs.matches(&sealed).count() + jobs.matches(&hex(sealed.as_bytes())).count()
    };
    assert_eq!((sealed_with(1), sealed_with(2)), (JOBS, 0));
    node.process.stop().await;
    let both = ["--secret-key-file", &new, "--old-secret-key-file", &old];
    let (mut one, mut other) = tokio::join!(database.node("a", &both), database.node("b", &both));
    let run = async |node: &Node, number: usize| {
        let local = Someone { address: node.address, token: None };
        local.ask("POST", &format!("/jobs/{}/run", ids[number])).await.expect(201);
        let request = endpoint.requests.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(request.contains(&format!("x-key: hunter {number}\r\n")), "{request}");
    };
    // Everything opens at both, whichever key has sealed it by now.
    for number in 0..6 {
        run(if number % 2 == 0 { &one } else { &other }, number * 10).await;
    }
    one.process.line("the old ones can go").await;
    other.process.line("the old ones can go").await;
    assert_eq!((sealed_with(1), sealed_with(2)), (0, JOBS));
    one.process.stop().await;
    other.process.stop().await;
    let node = database.node("c", &["--secret-key-file", &new]).await;
    for number in 0..6 {
        run(&node, number * 10 + 9).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_told_that_the_store_fails_and_not_how() {
    let cluster = Cluster::start(Durability::Volatile);
    let database = Database::fresh(&cluster);
    let node = database.node("a", &[]).await;
    let anyone = Someone { address: node.address, token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    assert_eq!(anyone.get("/readyz").await.expect(200)["store"], "ok");
    cluster.stop(Stop::Fast);
    until_ready_is(503, &node).await;
    for stranger in [&anyone, &anyone.with_token("x.y.z"), &ada] {
        // Nobody can look up who a token of a login is from now.
        let told = stranger.get("/readyz").await.expect(503);
        assert_eq!(
            (&told["status"], &told["store"]),
            (&json!("unavailable"), &json!("unavailable"))
        );
    }
    // Whoever runs the node has its token, and is told.
    let token = std::fs::read_to_string(database.data_of("a").join("local.token")).unwrap();
    let told = anyone.with_token(token.lines().nth(1).unwrap()).get("/readyz").await.expect(503);
    assert_ne!(told["store"], "unavailable", "{told}");
    assert!(text(&told["store"]).len() > "unavailable".len(), "{told}");
}
