//! Searching: what happened is found by its words, by whoever may see it, and is there again after a rebuild.

use std::time::Duration;

use chronos_store::{Engine, StoreUrl};
use serde_json::Value;

use super::fill_directory;
use crate::auth::{Someone, credentials};
use crate::daemon::house::{House, config};
use crate::rest::text;

/// What happened long ago is found as long as it is kept.
const KEPT: [&str; 2] = ["--history-days", "36500"];

/// What somebody finds, once there is as much as expected.
async fn found(who: &Someone, query: &str, total: u64) -> Value {
    let path = format!("/history/search?limit=7&query={query}");
    crate::daemon::soon(async {
        loop {
            let answer = who.get(&path).await;
            // While it is made again there is none.
            if answer.status != 503 {
                let page = answer.expect(200);
                if page["tally"]["total"] == total {
                    return page;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_find_what_is_their_own_and_viewers_everything() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut on_disk = config();
    on_disk.store = StoreUrl::Directory(Engine::Fjall, data.clone());
    let house = House::with(on_disk.clone()).await;
    let anyone = Someone { address: house.address(), token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    let (_, bob) = ada.hire("bob", "user").await;
    ada.hire("vera", "viewer").await;
    house.close().await;
    let jobs = fill_directory(&data, &[&bob, "somebody"], 50).await;

    let house = House::with(on_disk).await;
    let anyone = Someone { address: house.address(), token: None };
    let (ada, bob, vera) =
        (anyone.log_in("ada").await, anyone.log_in("bob").await, anyone.log_in("vera").await);
    // Nobody waits for the clock: what was missed is indexed when the daemon starts.
    let failed = "kind:execution+status:failed+%22connection+to+db%22";
    for who in [&ada, &vera] {
        found(who, failed, 19).await;
    }
    let page = found(&bob, failed, 9).await;
    assert_eq!(page["tally"]["exact"], true);
    assert_eq!(text(&page["tally"]["grain"]), "hour");
    let items = page["items"].as_array().unwrap();
    assert_eq!(items.len(), 7);
    for item in items {
        assert_eq!(text(&item["job_id"]), jobs[0].0.to_string());
        let marked: Vec<&str> = item["text"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|fragment| fragment["marked"] == true)
            .map(|fragment| text(&fragment["text"]))
            .collect();
        assert_eq!(marked, ["connection", "to", "db"]);
    }
    let cursor = text(&page["next_cursor"]);
    let rest = format!("/history/search?limit=7&query={failed}&cursor={cursor}");
    let last = bob.get(&rest).await.expect(200);
    assert_eq!(last["items"].as_array().unwrap().len(), 2);
    assert!(last["next_cursor"].is_null() && last["tally"].is_null(), "{last}");
    vera.get(&rest).await.refused(400);
    found(&bob, "owner:somebody", 0).await;
    found(&bob, "job:past-1", 0).await;
    anyone.get("/history/search").await.refused(401);

    for (query, field, accepted) in [
        ("query=state:failed", "query", "at character 1; the fields are job"),
        ("query=status:broken", "query", "status is one of success"),
        ("cursor=nonsense", "cursor", "leave it out"),
        ("tz=Europ/Paris", "tz", "Europe/Berlin"),
        ("limit=0", "limit", "1 to 100"),
        ("limit=101", "limit", "1 to 100"),
        ("q=x", "q", "query, tz, limit or cursor"),
    ] {
        let (named, problem) = bob.get(&format!("/history/search?{query}")).await.refused(400);
        assert!(named == field && problem.contains(accepted), "{query}: {named}: {problem}");
    }

    // Made again, it finds the same.
    assert_eq!(ada.ask("POST", "/history/rebuild").await.status, 202);
    assert_eq!(found(&bob, failed, 9).await["items"], page["items"]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_shows_what_it_finds_and_marks_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fill_directory(&data, &["somebody"], 10).await;
    let (mut daemon, address) = crate::serving::Serving::over(&data, &KEPT).await;
    let (server, place) = (format!("http://{address}"), data.display().to_string());
    let at = ["--server", &server, "--data-dir", &place];
    let nobody = Someone { address, token: None };
    found(&nobody, "status:failed+refused+kind:execution", 1).await;
    let search = |words: &[&str]| crate::answer(&[&["history", "search"], words, &at[..]].concat());
    let shown = search(&["job:past-0", "kind:execution", "connection to db", "--tz", "Asia/Tokyo"]);
    assert!(shown.contains("2025-12-29 14:00:01  FAILED  past-0"), "{shown}");
    assert!(shown.contains("no connection to db: refused"), "{shown}");
    assert!(shown.ends_with("1 found\n"), "{shown}");
    let shown = search(&["kind:execution -status:failed", "--limit", "3"]);
    assert!(shown.contains("SUCCESS") && !shown.contains("FAILED"), "{shown}");
    assert!(shown.contains("3 shown"), "{shown}");
    let told: Value = serde_json::from_str(&search(&["status:failed", "--json"])).unwrap();
    assert_eq!((&told["tally"]["total"], &told["more"]), (&1.into(), &false.into()));
    assert_eq!(search(&["unheard"]), "Nothing was found\n");
    let list = crate::answer(&[&["scheduler", "list"], &at[..]].concat());
    assert!(list.contains("index_commit"), "{list}");
    daemon.stop().await;
}
