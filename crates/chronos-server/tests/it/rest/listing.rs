//! Lists of jobs: filters, pages, and what comes and goes between them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{hourly, text};
use crate::daemon::house::House;

/// The names of the jobs that a query finds, over all pages; those of the house itself left out.
async fn names(house: &House, query: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = house.get(&format!("/jobs?limit=2{query}{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        names.extend(items.iter().map(|job| text(&job["name"]).to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    names.retain(|name| !crate::daemon::house::HANDLERS.contains(&name.as_str()));
    // Ids sort by the millisecond, and within one as they please.
    names.sort();
    names
}

fn tagged(name: &str, tags: &[&str]) -> Value {
    let mut job = hourly(name, "succeed");
    job["tags"] = json!(tags);
    job
}

#[tokio::test]
async fn every_filter_finds_what_it_asks_for() {
    let house = House::open().await;
    let red = house.make(&tagged("red one", &["red"])).await;
    house.make(&tagged("red two", &["red", "blue"])).await;
    let off = house.make(&tagged("off", &[])).await;
    let held = house.make(&hourly("held", "wait")).await;
    let once = json!({
        "name": "once", "schedule": {"type": "one_shot", "at": "2096-01-01T00:00:00Z"},
        "target": {"type": "handler", "name": "succeed"},
    });
    house.post("/jobs", &once).await.expect(201);
    let done = json!({"name": "done", "target": {"type": "handler", "name": "fail"}});
    let done = house.post("/jobs", &done).await.expect(201);
    house.ask("POST", &format!("/jobs/{}/pause", text(&red["id"]))).await.expect(200);
    house.ask("DELETE", &format!("/jobs/{}", text(&off["id"]))).await.expect(200);
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&held["id"]))).await.expect(201);
    house.wait_for(text(&run["id"]), "RUNNING").await;
    crate::daemon::soon(async {
        let path = format!("/jobs/{}", text(&done["id"]));
        while house.get(&path).await.expect(200)["status"] != "FAILED" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for (query, expected) in [
        ("", &["red one", "red two", "off", "held", "once", "done"][..]),
        ("&status=PENDING", &["red one", "red two", "once"]),
        ("&status=scheduled", &["red one", "red two", "once"]),
        ("&status=RUNNING", &["held"]),
        ("&status=FAILED", &["done"]),
        ("&status=DISABLED", &["off"]),
        ("&status=SUCCESS", &[]),
        ("&status=RETRY_PENDING", &[]),
        ("&status=paused", &["red one"]),
        ("&paused=true", &["red one"]),
        ("&paused=false&status=PENDING", &["red two", "once"]),
        ("&recurring=true", &["red one", "red two", "off", "held"]),
        ("&recurring=false", &["once", "done"]),
        ("&name=red", &["red one", "red two"]),
        ("&name=red%20t", &["red two"]),
        ("&name=red+t", &["red two"]),
        ("&name=ed", &[]),
        ("&tag=red", &["red one", "red two"]),
        ("&tag=blue&name=red", &["red two"]),
        ("&tag=re", &[]),
        ("&owner=somebody", &[]),
        ("&owner=", &["red one", "red two", "off", "held", "once", "done"]),
        ("&next_run_after=2095-01-01T00:00:00Z&next_run_before=2097-01-01T00:00:00Z", &["once"]),
        ("&next_run_before=2090-01-01T00:00:00%2B00:00&tag=red", &["red one", "red two"]),
    ] {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(names(&house, query).await, expected, "{query}");
    }
    house.leave.add_permits(1);
    house.wait_for(text(&run["id"]), "SUCCESS").await;
    house.close().await;
}

#[tokio::test]
async fn pages_neither_miss_nor_repeat_while_jobs_come_and_go() {
    let house = House::open().await;
    let mut ids = Vec::new();
    for number in 0..6 {
        let job = house.make(&tagged(&format!("t{number}"), &["t"])).await;
        ids.push(text(&job["id"]).to_owned());
    }
    ids.sort();
    let page = house.get("/jobs?tag=t&limit=3").await.expect(200);
    let ids_of = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|job| text(&job["id"]).to_owned()).collect()
    };
    assert_eq!(ids_of(&page), ids[..3]);
    let cursor = text(&page["next_cursor"]).to_owned();
    for gone in [&ids[0], &ids[2], &ids[4]] {
        assert_eq!(house.ask("DELETE", &format!("/jobs/{gone}?purge=true")).await.status, 204);
    }
    // Ids are in the order of milliseconds, and in no order within one.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let newcomer = text(&house.make(&tagged("t6", &["t"])).await["id"]).to_owned();
    let page = house.get(&format!("/jobs?tag=t&limit=9&cursor={cursor}")).await.expect(200);
    assert_eq!(ids_of(&page), [ids[3].clone(), ids[5].clone(), newcomer]);
    house.close().await;
}

#[tokio::test]
async fn parameters_that_cannot_be_meant_are_named() {
    let house = House::open().await;
    let page = house.get("/jobs?limit=2").await.expect(200);
    let cursor = text(&page["next_cursor"]).to_owned();
    let mut forged = cursor.clone();
    forged.replace_range(3..4, if &cursor[3..4] == "A" { "B" } else { "A" });
    for (query, field) in [
        ("limit=0".to_owned(), "limit"),
        ("limit=1001".into(), "limit"),
        ("limit=1000000000".into(), "limit"),
        ("limit=-1".into(), "limit"),
        ("limit=1&limit=2".into(), "limit"),
        ("cursor=".into(), "cursor"),
        (format!("cursor={forged}"), "cursor"),
        (format!("cursor={cursor}&tag=x"), "cursor"),
        ("cursor=../../etc/passwd".into(), "cursor"),
        ("status=ASLEEP".into(), "status"),
        ("recurring=maybe".into(), "recurring"),
        ("paused=1".into(), "paused"),
        ("next_run_after=tomorrow".into(), "next_run_after"),
        ("next_run_before=2026-13-01T00:00:00Z".into(), "next_run_before"),
        ("sort=name".into(), "sort"),
        ("offset=10".into(), "offset"),
        ("page=2".into(), "page"),
        ("name=%ff".into(), "name"),
        ("name=%00".into(), "name"),
        ("%ff=1".into(), "query"),
    ] {
        let (named, problem) = house.get(&format!("/jobs?{query}")).await.refused(400);
        assert_eq!(named, field, "{query}: {problem}");
    }
    house.close().await;
}
