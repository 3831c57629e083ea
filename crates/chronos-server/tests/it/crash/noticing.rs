//! Notices and kills: what is owed is told in the end, by whichever process, and always as the same.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::daemon::soon;
use crate::rest::{JSON, send, text};
use crate::serving::{Serving, say};

const JOBS: usize = 60;
const KILLS: usize = 6;

/// A notice as it came: its id by the body and by both headers, and whether it was taken.
#[derive(Clone, Debug)]
struct Told {
    ids: [String; 3],
    body: Value,
    taken: bool,
}

/// Fails every run, and takes a notice when it comes for the second time.
#[derive(Clone, Default)]
struct Endpoint(Arc<Mutex<Vec<Told>>>);

impl Endpoint {
    async fn open(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        address
    }

    /// What was told about each job, by its name.
    fn told(&self) -> BTreeMap<String, Vec<Told>> {
        let mut told: BTreeMap<String, Vec<Told>> = BTreeMap::new();
        for notice in self.0.lock().unwrap().iter() {
            told.entry(text(&notice.body["job"]["name"]).into()).or_default().push(notice.clone());
        }
        told
    }
}

async fn answer(
    State(endpoint): State<Endpoint>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> StatusCode {
    if uri.path() != "/notices" {
        return StatusCode::NOT_FOUND;
    }
    // Long enough for kills to meet it, before and after it is noted.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let ids = [text(&body["id"]).to_owned(), header("webhook-id"), header("idempotency-key")];
    let taken = {
        let mut told = endpoint.0.lock().unwrap();
        let taken = told.iter().any(|known| known.ids == ids);
        told.push(Told { ids, body, taken });
        taken
    };
    tokio::time::sleep(Duration::from_millis(20)).await;
    if taken { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

async fn create(daemon: SocketAddr, number: usize, endpoint: SocketAddr) {
    let job = json!({
        "name": format!("job {number}"),
        "target": {"type": "http", "url": format!("http://{endpoint}/fails")},
        "notify": {
            "url": format!("http://{endpoint}/notices"), "on": ["failure"],
            "signing_secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        },
    });
    let made = send(daemon, "POST", "/jobs", JSON, job.to_string().as_bytes()).await;
    made.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notice_that_is_owed_is_told_after_kills_and_always_as_the_same() {
    let seed = std::env::var("CHRONOS_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut dice = Rng::with_seed(seed.unwrap_or_else(|| fastrand::u64(..)));
    say(&format!("replay the dice with CHRONOS_CRASH_SEED={}", dice.get_seed()));
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let endpoint = Endpoint::default();
    let address = endpoint.open().await;
    let (mut daemon, mut at) = Serving::over(&data, &[]).await;
    for round in 0..KILLS {
        for number in 0..JOBS / KILLS {
            create(at, round * (JOBS / KILLS) + number, address).await;
        }
        tokio::time::sleep(Duration::from_millis(dice.u64(..400))).await;
        daemon.kill();
        (daemon, at) = Serving::over(&data, &[]).await;
    }
    let is_done = |told: &BTreeMap<String, Vec<Told>>| {
        told.len() == JOBS && told.values().all(|told| told.iter().any(|told| told.taken))
    };
    let waited = tokio::time::timeout(Duration::from_mins(2), async {
        while !is_done(&endpoint.told()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let in_time = waited.await.is_ok();
    let told = endpoint.told();
    assert!(in_time, "not everything was told: {:?}", told.keys());
    for (job, told) in &told {
        let first = &told[0];
        assert!(first.ids.iter().all(|id| *id == first.ids[0]), "{job}: {first:?}");
        for again in told {
            assert_eq!((&again.ids, &again.body), (&first.ids, &first.body), "{job}");
        }
        assert_eq!(
            (&first.body["kind"], &first.body["execution"]["status"]),
            (&json!("failure"), &json!("FAILED"))
        );
    }
    soon(daemon.stop()).await;
}
