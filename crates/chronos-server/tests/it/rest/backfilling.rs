//! Backfilling: past slots of a job that run after all, asked for, tried out, told and switched.

use serde_json::{Value, json};

use super::{hourly, text};
use crate::daemon::house::House;
use crate::daemon::soon;

/// A job that calls a handler at every full hour, and would have done so long before it was made.
fn at_full_hours(name: &str, handler: &str) -> Value {
    json!({
        "name": name,
        "schedule": {"type": "cron", "expression": "0 * * * *", "timezone": "UTC"},
        "target": {"type": "handler", "name": handler},
    })
}

fn six_hours() -> Value {
    json!({"from": "2020-01-01T00:00:00Z", "to": "2020-01-01T06:00:00Z"})
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn begin(house: &House, job: &Value, body: &Value) -> Value {
    let path = format!("/jobs/{}/backfills", text(&job["id"]));
    let answer = house.post(&path, body).await;
    let location = answer.header("location").map(ToOwned::to_owned);
    let made = answer.expect(201);
    assert_eq!(location, Some(format!("/backfills/{}", text(&made["id"]))));
    made
}

/// The backfill, once it is as described.
async fn when(house: &House, backfill: &Value, is: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/backfills/{}", text(&backfill["id"]));
    soon(async {
        loop {
            let told = house.get(&path).await.expect(200);
            if is(&told) {
                return told;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

async fn over(house: &House, backfill: &Value) -> Value {
    when(house, backfill, |told| told["ended_at"].is_string() && told["under_way"] == 0).await
}

#[tokio::test]
async fn a_range_runs_to_its_end_and_every_run_tells_where_it_comes_from() {
    let house = House::open().await;
    let job = house.make(&at_full_hours("report", "succeed")).await;
    let made = begin(&house, &job, &six_hours()).await;
    assert_eq!((&made["total"], &made["number"]), (&json!(6), &json!(1)));
    assert_eq!((&made["state"], &made["order"]), (&json!("running"), &json!("oldest_first")));
    assert_eq!(made["rate"], json!({"at_once": 1, "per_minute": null}));
    let told = over(&house, &made).await;
    assert_eq!((&told["state"], &told["succeeded"]), (&json!("finished"), &json!(6)));
    assert_eq!((&told["done"], &told["already_run"]), (&json!(6), &json!(0)));
    let path = format!("/jobs/{}/executions", text(&job["id"]));
    let rows = house.get(&path).await.expect(200);
    let rows = rows["items"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let from = (&row["trigger"], &row["backfill_id"], &row["status"]);
        assert_eq!(from, (&json!("backfill"), &made["id"], &json!("SUCCESS")));
    }
    let path = format!("/jobs/{}/explain?at=2020-01-01T03:00:00Z", text(&job["id"]));
    let explained = house.get(&path).await.expect(200);
    let sentence = text(&explained["explanation"]);
    assert!(
        sentence.contains("was run by backfill 1") && sentence.contains("succeeded"),
        "{sentence}"
    );
    let path = format!("/audit?job={}&kind=backfill.finished", text(&job["id"]));
    let audit = house.get(&path).await.expect(200);
    assert_eq!(audit["items"][0]["details"]["succeeded"], 6);
    let after = house.get(&format!("/jobs/{}", text(&job["id"]))).await.expect(200);
    assert_eq!(after["next_execution_time"], job["next_execution_time"], "the cadence stays");
    house.close().await;
}

#[tokio::test]
async fn what_has_run_is_passed_over_and_done_again_only_by_force() {
    let house = House::open().await;
    let job = house.make(&at_full_hours("report", "succeed")).await;
    over(&house, &begin(&house, &job, &six_hours()).await).await;
    let again = over(&house, &begin(&house, &job, &six_hours()).await).await;
    assert_eq!((&again["already_run"], &again["succeeded"]), (&json!(6), &json!(0)));
    let forced = with(six_hours(), &json!({"force": true, "cap": 2, "order": "newest_first"}));
    let forced = over(&house, &begin(&house, &job, &forced).await).await;
    assert_eq!((&forced["succeeded"], &forced["beyond_cap"]), (&json!(2), &json!(true)));
    let path = format!("/jobs/{}/backfills?limit=2", text(&job["id"]));
    let page = house.get(&path).await.expect(200);
    let numbers = |page: &Value| -> Vec<u64> {
        page["items"].as_array().unwrap().iter().map(|it| it["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&page), [3, 2]);
    let rest =
        house.get(&format!("{path}&cursor={}", text(&page["next_cursor"]))).await.expect(200);
    assert_eq!((numbers(&rest), &rest["next_cursor"]), (vec![1], &json!(null)));
    house.close().await;
}

#[tokio::test]
async fn a_dry_run_says_what_would_become_of_each_slot_and_makes_nothing() {
    let house = House::open().await;
    let job = house.make(&at_full_hours("report", "succeed")).await;
    let two = json!({"from": "2020-01-01T00:00:00Z", "to": "2020-01-01T01:00:01Z"});
    over(&house, &begin(&house, &job, &two).await).await;
    let path = format!("/jobs/{}/backfills", text(&job["id"]));
    let dry = with(
        json!({"from": "2020-01-01T01:00:00Z", "to": "2020-01-01T03:00:00Z"}),
        &json!({"dry_run": true}),
    );
    let told = house.post(&path, &dry).await.expect(200);
    let slots = told["slots"].as_array().unwrap();
    let actions: Vec<_> =
        slots.iter().map(|it| (text(&it["action"]), text(&it["reason"]))).collect();
    assert_eq!(actions, [("skip", "it has run: SUCCESS"), ("run", "it never ran")]);
    assert!(slots[0]["execution_id"].is_string() && slots[1]["execution_id"].is_null());
    assert_eq!((&told["total"], &told["listed"]), (&json!(2), &json!(2)));
    let forced = house.post(&path, &with(dry, &json!({"force": true}))).await.expect(200);
    assert_eq!(forced["slots"][0]["action"], "redo");
    assert_eq!(house.get(&path).await.expect(200)["items"].as_array().unwrap().len(), 1);
    house.close().await;
}

#[tokio::test]
async fn it_is_paused_resumed_and_cancelled() {
    let house = House::open().await;
    let job = house.make(&at_full_hours("slow", "wait")).await;
    let made = begin(&house, &job, &six_hours()).await;
    let path = format!("/backfills/{}", text(&made["id"]));
    when(&house, &made, |told| told["under_way"] == 1).await;
    let paused = house.ask("POST", &format!("{path}/pause")).await.expect(200);
    assert_eq!(paused["state"], "paused");
    house.leave.add_permits(1);
    let idle = when(&house, &made, |told| told["under_way"] == 0).await;
    assert_eq!((&idle["done"], &idle["state"]), (&json!(1), &json!("paused")));
    assert_eq!(idle["next_slot"], "2020-01-01T01:00:00Z");
    house.ask("POST", &format!("{path}/resume")).await.expect(200);
    let running = when(&house, &made, |told| told["under_way"] == 1).await;
    assert_eq!(running["waits_for"], "own_runs");
    house.ask("POST", &format!("{path}/cancel")).await.expect(200);
    let cancelled = over(&house, &made).await;
    assert_eq!((&cancelled["state"], &cancelled["done"]), (&json!("cancelled"), &json!(2)));
    assert_eq!((&cancelled["cancelled"], &cancelled["next_slot"]), (&json!(1), &json!(null)));
    for verb in ["pause", "resume", "cancel"] {
        let (_, problem) = house.ask("POST", &format!("{path}/{verb}")).await.refused(409);
        assert!(problem.contains("the backfill is cancelled, and stays so"), "{problem}");
    }
    house.close().await;
}

#[tokio::test]
async fn failures_are_counted_and_told() {
    let house = House::open().await;
    let job = house.make(&at_full_hours("broken", "fail")).await;
    let made = begin(&house, &job, &with(six_hours(), &json!({"cap": 3}))).await;
    let told = over(&house, &made).await;
    assert_eq!((&told["state"], &told["failed"]), (&json!("finished"), &json!(3)));
    assert!(told["error"].is_string(), "{told}");
    house.close().await;
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_its_field() {
    let house = House::open().await;
    let job = house.make(&at_full_hours("report", "succeed")).await;
    let path = format!("/jobs/{}/backfills", text(&job["id"]));
    for (more, field, says) in [
        (json!({"to": "2019-01-01T00:00:00Z"}), "to", "it is not after from"),
        (json!({"to": "2999-01-01T00:00:00Z"}), "to", "is still to come"),
        (json!({"from": "1960-01-01T00:00:00Z"}), "from", "1970-01-01T00:00:00Z or later"),
        (
            json!({"from": "2020-01-01T00:10:00Z", "to": "2020-01-01T00:20:00Z"}),
            "from",
            "has no slot",
        ),
        (json!({"cap": 0}), "cap", "1 to 100000"),
        (json!({"cap": 100_001}), "cap", "1 to 100000"),
        (json!({"order": "sideways"}), "order", "newest_first"),
        (json!({"rate": {"at_once": 0}}), "rate.at_once", "1 to 100"),
        (json!({"rate": {"per_minute": 6_001}}), "rate.per_minute", "1 to 6000"),
        (json!({"rate": {"per_hour": 1}}), "rate.per_hour", ""),
        (json!({"from": "soon"}), "from", ""),
        (json!({"colour": "red"}), "colour", ""),
    ] {
        let answer = house.post(&path, &with(six_hours(), &more)).await;
        let (named, problem) = answer.refused(422);
        assert_eq!(named, field, "{problem}");
        assert!(problem.contains(says), "{problem}");
    }
    house.post(&path, &json!({})).await.refused(422);
    let once = json!({"name": "once", "schedule": {"type": "one_shot", "at": "2999-01-01T00:00:00Z"},
        "target": {"type": "handler", "name": "succeed"}});
    let once = house.post("/jobs", &once).await.expect(201);
    let path = format!("/jobs/{}/backfills", text(&once["id"]));
    let (_, problem) = house.post(&path, &six_hours()).await.refused(422);
    assert!(problem.contains("the job runs once"), "{problem}");
    let fresh = house.make(&hourly("interval", "succeed")).await;
    let path = format!("/jobs/{}/backfills", text(&fresh["id"]));
    let (field, problem) = house.post(&path, &six_hours()).await.refused(422);
    assert_eq!(field, "from", "an interval is counted from when its job was made: {problem}");
    house.get("/backfills/01890000-0000-7000-8000-000000000000").await.refused(404);
    house.get("/backfills/nonsense").await.refused(404);
    house.close().await;
}
