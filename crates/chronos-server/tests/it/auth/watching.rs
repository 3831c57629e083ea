//! Whose jobs whoever watches is told of.

use std::time::Duration;

use serde_json::Value;

use super::Estate;
use crate::rest::events::{says, stream};
use crate::rest::text;

#[tokio::test]
async fn a_stream_names_the_jobs_that_changed_and_nobody_is_told_of_anothers() {
    let (estate, ada) = Estate::open().await;
    let (uma, _) = ada.hire("uma", "user").await;
    let listen = async |token: String| {
        let lines = format!("Authorization: Bearer {token}\r\n");
        let (events, _) = stream(ada.address, "/jobs/stream", &lines, 99_000).await;
        let named = events.iter().flat_map(|line| line["jobs"].as_array().unwrap().clone());
        named.collect::<Vec<Value>>()
    };
    let tokens = [&ada, &uma].map(|someone| someone.token.clone().unwrap());
    let change = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let hers = uma.post("/jobs/recurring", &says("hers")).await.expect(201);
        let other = ada.post("/jobs/recurring", &says("other")).await.expect(201);
        for (someone, job) in [(&uma, &hers), (&ada, &other)] {
            let path = format!("/jobs/{}/run", text(&job["id"]));
            someone.ask("POST", &path).await.expect(201);
        }
        (hers["id"].clone(), other["id"].clone())
    };
    let [of_ada, of_uma] = tokens;
    let (seen_by_ada, seen_by_uma, (hers, other)) =
        tokio::join!(listen(of_ada), listen(of_uma), change);
    assert!(seen_by_ada.contains(&hers) && seen_by_ada.contains(&other), "{seen_by_ada:?}");
    assert!(seen_by_uma.contains(&hers) && !seen_by_uma.contains(&other), "{seen_by_uma:?}");
    estate.close().await;
}
