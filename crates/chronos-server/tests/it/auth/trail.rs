//! The audit: who did what, told to those whom it concerns.

use serde_json::{Value, json};

use super::{Estate, Someone};
use crate::rest::{hourly, text};

/// What is told, oldest first, page by page.
async fn told(someone: &Someone, query: &str) -> Vec<Value> {
    let (mut events, mut path) = (Vec::new(), format!("/audit?limit=3{query}"));
    loop {
        let page = someone.get(&path).await.expect(200);
        events.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/audit?limit=3{query}&cursor={cursor}"),
            None => break,
        }
    }
    events.reverse();
    events
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| text(&event["type"])).collect()
}

async fn make(someone: &Someone, name: &str) -> String {
    let made = someone.post("/jobs/recurring", &hourly(name, "succeed")).await.expect(201);
    text(&made["id"]).into()
}

#[tokio::test]
async fn everyone_is_told_what_concerns_them_and_who_did_it() {
    let (estate, ada) = Estate::open().await;
    let ada_id = text(&ada.get("/auth/me").await.expect(200)["user"]["id"]).to_owned();
    let (uma, first_id) = ada.hire("uma", "user").await;
    let (una, second_id) = ada.hire("una", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let hers = make(&uma, "hers").await;
    make(&una, "other").await;
    ada.ask("POST", &format!("/jobs/{hers}/pause")).await.expect(200);
    uma.ask("POST", &format!("/jobs/{hers}/resume")).await.expect(200);
    let policy = uma.post("/quiet-hours", &json!({"name": "nights"})).await.expect(201);
    let policy = text(&policy["id"]);
    uma.patch(&format!("/quiet-hours/{policy}"), &json!({"mode": "defer"})).await.expect(200);
    assert_eq!(ada.ask("DELETE", &format!("/quiet-hours/{policy}")).await.status, 204);
    assert_eq!(uma.ask("DELETE", &format!("/jobs/{hers}?purge=true")).await.status, 204);

    let of_uma = told(&uma, "").await;
    let expected = [
        "schedule.created",
        "schedule.paused",
        "schedule.resumed",
        "policy.created",
        "policy.updated",
        "policy.deleted",
        "schedule.cancelled",
    ];
    assert_eq!(kinds(&of_uma), expected, "also of a job that is gone");
    let actors: Vec<&str> = of_uma.iter().map(|event| text(&event["actor"])).collect();
    let (a, u) = (ada_id.as_str(), first_id.as_str());
    assert_eq!(actors, [u, a, u, u, u, a, u]);
    assert!(of_uma.iter().all(|event| event["owner"] == first_id), "{of_uma:#?}");
    assert_eq!(kinds(&told(&una, "").await), ["schedule.created"]);
    assert!(told(&una, &format!("&job={hers}")).await.is_empty(), "as if there were none");
    assert!(told(&una, &format!("&owner={first_id}")).await.is_empty());

    let of_vic = told(&vic, "").await;
    assert!(of_vic.iter().all(|event| !text(&event["type"]).starts_with("auth.")), "{of_vic:#?}");
    assert_eq!(told(&vic, &format!("&owner={second_id}")).await.len(), 1);
    assert_eq!(kinds(&told(&vic, "&kind=node").await), ["node.reconciled"]);
    let by_ada = told(&vic, &format!("&actor={ada_id}")).await;
    assert_eq!(kinds(&by_ada), ["schedule.paused", "policy.deleted"]);

    let of_ada = told(&ada, "").await;
    let logins = of_ada.iter().filter(|event| event["type"] == "auth.logged_in").count();
    assert_eq!(logins, 4);
    assert_eq!(of_ada.len(), of_vic.len() + told(&ada, "&kind=auth").await.len());
    let login = &told(&ada, "&kind=auth.logged_in").await[1];
    assert_eq!((&login["actor"], &login["user_id"]), (&json!(first_id), &json!(first_id)));
    assert_eq!(login["details"], json!({"address": "127.0.0.1", "username": "uma"}));
    assert_eq!(login["outcome"], "success");
    for nosy in [&uma, &vic] {
        nosy.get("/audit?kind=auth").await.refused(403);
        nosy.get("/audit?kind=auth.login_refused").await.refused(403);
    }
    let times: Vec<&str> = of_ada.iter().map(|event| text(&event["timestamp"])).collect();
    assert!(times.is_sorted(), "both logs are told as one: {times:?}");
    estate.close().await;
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_its_name() {
    let (estate, ada) = Estate::open().await;
    for (query, field) in [
        ("job=hers", "job"),
        ("kind=schedule.exploded", "kind"),
        ("kind=", "kind"),
        ("actor=ada", "actor"),
        ("owner=ada", "owner"),
        ("trace_id=abc", "trace_id"),
        ("trace_id=zz000000000000000000000000000000", "trace_id"),
        ("since=yesterday", "since"),
        ("until=2026-12-01", "until"),
        ("limit=0", "limit"),
        ("cursor=abc", "cursor"),
        ("after=3", "after"),
    ] {
        let (named, problem) = ada.get(&format!("/audit?{query}")).await.refused(400);
        assert_eq!(named, field, "{query}: {problem}");
    }
    let page = ada.get("/audit?limit=1").await.expect(200);
    let cursor = text(&page["next_cursor"]);
    ada.get(&format!("/audit?limit=1&kind=schedule&cursor={cursor}")).await.refused(400);
    estate.close().await;
}
