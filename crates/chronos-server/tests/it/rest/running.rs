//! Runs by hand, executions and dead letters.

use serde_json::{Value, json};

use super::{hourly, text};
use crate::daemon::house::House;

#[tokio::test]
async fn a_run_by_hand_is_told_to_its_end() {
    let house = House::open().await;
    let job = house.make(&hourly("s", "succeed")).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let answer = house.ask("POST", &format!("{path}/run")).await;
    let location = answer.header("location").unwrap().to_owned();
    let run = answer.expect(201);
    assert_eq!(location, format!("/executions/{}", text(&run["id"])));
    assert_eq!((&run["trigger"], &run["attempt"]), (&json!("manual"), &json!(1)));
    let run = house.wait_for(text(&run["id"]), "SUCCESS").await;
    assert_eq!((&run["job_id"], &run["log"]), (&job["id"], &json!("done\n")));
    for field in ["scheduled_for", "run_at", "worker_id", "started_at", "finished_at"] {
        assert!(!text(&run[field]).is_empty(), "{field}");
    }
    assert!(run["duration_ms"].is_u64());
    assert_eq!((&run["retry_number"], &run["error"]), (&json!(0), &json!(null)));
    assert_eq!(house.get(&location).await.expect(200), run);
    let job = house.get(&path).await.expect(200);
    assert_eq!(job["last_run_at"], run["started_at"]);
    assert_eq!(job["counts"]["succeeded"], 1);
    house.close().await;
}

#[tokio::test]
async fn overlap_refuses_a_run_and_a_retry_while_one_is_alive() {
    let house = House::open().await;
    let job = house.make(&hourly("w", "wait")).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let run = house.ask("POST", &format!("{path}/run")).await.expect(201);
    house.wait_for(text(&run["id"]), "RUNNING").await;
    assert_eq!(house.get(&path).await.expect(200)["status"], "RUNNING");
    house.ask("POST", &format!("{path}/run")).await.refused(409);
    house.ask("POST", &format!("{path}/retry")).await.refused(409);
    let asked = house.ask("POST", &format!("/executions/{}/cancel", text(&run["id"]))).await;
    assert_eq!(asked.expect(200)["id"], run["id"]);
    house.wait_for(text(&run["id"]), "CANCELLED").await;
    let again = house.ask("POST", &format!("{path}/retry")).await.expect(201);
    house.leave.add_permits(1);
    house.wait_for(text(&again["id"]), "SUCCESS").await;
    house.close().await;
}

#[tokio::test]
async fn a_retry_takes_the_place_of_one_that_waits() {
    let house = House::open().await;
    let mut job = hourly("f", "fail");
    job["max_retry"] = json!(3);
    job["retry_base_seconds"] = json!(600);
    let job = house.make(&job).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    let run = house.ask("POST", &format!("{path}/run")).await.expect(201);
    let failed = house.wait_for(text(&run["id"]), "FAILED").await;
    assert_eq!(failed["error"], "no luck");
    let waiting = house.get(&path).await.expect(200);
    assert_eq!((&waiting["status"], &waiting["retry_count"]), (&json!("RETRY_PENDING"), &json!(1)));
    let again = house.ask("POST", &format!("{path}/retry")).await.expect(201);
    assert_eq!(again["retry_number"], 0);
    house.wait_for(text(&again["id"]), "FAILED").await;
    let rows = house.get(&format!("{path}/executions")).await.expect(200);
    let statuses: Vec<_> =
        rows["items"].as_array().unwrap().iter().map(|row| text(&row["status"])).collect();
    assert_eq!(statuses.iter().filter(|status| **status == "SKIPPED").count(), 1, "{statuses:?}");
    house.close().await;
}

#[tokio::test]
async fn executions_page_newest_first() {
    let house = House::open().await;
    let mut job = hourly("s", "succeed");
    job["overlap_policy"] = json!("concurrent");
    let job = house.make(&job).await;
    let path = format!("/jobs/{}", text(&job["id"]));
    for _ in 0..7 {
        let run = house.ask("POST", &format!("{path}/run")).await.expect(201);
        house.wait_for(text(&run["id"]), "SUCCESS").await;
    }
    let all = house.get(&format!("{path}/executions")).await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 7);
    assert_eq!(all["next_cursor"], json!(null));
    let mut paged: Vec<Value> = Vec::new();
    let mut next = format!("{path}/executions?limit=3");
    loop {
        let page = house.get(&next).await.expect(200);
        paged.extend(page["items"].as_array().unwrap().clone());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{path}/executions?limit=3&cursor={cursor}");
    }
    assert_eq!(json!(paged), all["items"]);
    let other = house.make(&hourly("o", "succeed")).await;
    let page = house.get(&format!("{path}/executions?limit=3")).await.expect(200);
    let cursor = text(&page["next_cursor"]);
    let of_other = format!("/jobs/{}/executions?cursor={cursor}", text(&other["id"]));
    assert_eq!(house.get(&of_other).await.refused(400).0, "cursor");
    house.close().await;
}

/// Makes dead letters of a job; gives back their ids, oldest first.
async fn dead_letters(house: &House, job: &Value, count: usize) -> Vec<String> {
    let mut dead = Vec::new();
    for _ in 0..count {
        let run = house.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
        house.wait_for(text(&run["id"]), "FAILED").await;
        dead.push(text(&run["id"]).to_owned());
    }
    dead
}

async fn listed(house: &House, query: &str) -> Vec<String> {
    let page = house.get(&format!("/dead-letters{query}")).await.expect(200);
    page["items"].as_array().unwrap().iter().map(|row| text(&row["id"]).to_owned()).collect()
}

#[tokio::test]
async fn dead_letters_are_listed_and_redriven() {
    let house = House::open().await;
    let one = house.make(&hourly("one", "fail")).await;
    let two = house.make(&hourly("two", "fail")).await;
    // Ids sort by the millisecond, and within one as they please.
    let newest_first = |mut ids: Vec<String>| {
        ids.sort();
        ids.reverse();
        ids
    };
    let of_one = newest_first(dead_letters(&house, &one, 2).await);
    let of_two = dead_letters(&house, &two, 3).await;
    let dead = newest_first([of_one.clone(), of_two.clone()].concat());
    assert_eq!(listed(&house, "").await, dead);
    assert_eq!(listed(&house, "?limit=2").await, dead[..2]);
    assert_eq!(listed(&house, &format!("?job_id={}", text(&one["id"]))).await, of_one);

    let some = json!({"ids": [of_two[0], of_two[0], one["id"]]});
    let answer = house.post("/dead-letters/redrive", &some).await.expect(200);
    assert_eq!(answer["redriven"][0]["id"], json!(of_two[0]));
    let again = text(&answer["redriven"][0]["execution_id"]);
    let again = house.wait_for(again, "FAILED").await;
    assert_eq!((&again["attempt"], &again["trigger"]), (&json!(2), &json!("manual")));
    let refused: Vec<_> = answer["refused"].as_array().unwrap().iter().collect();
    assert_eq!(refused[0]["problem"]["status"], 409, "it is no dead letter any more");
    assert_eq!(refused[1]["problem"]["status"], 404);

    let all = json!({"all": true, "job_id": one["id"], "limit": 1});
    let answer = house.post("/dead-letters/redrive", &all).await.expect(200);
    assert_eq!((&answer["redriven"][0]["id"], &answer["more"]), (&json!(of_one[0]), &json!(true)));
    for (body, field) in [
        (json!({}), "ids"),
        (json!({"ids": []}), "ids"),
        (json!({"ids": ["x"]}), "ids[0]"),
        (json!({"all": true, "ids": [dead[1]]}), "ids"),
        (json!({"all": false}), "ids"),
        (json!({"all": true, "limit": 0}), "limit"),
        (json!({"all": true, "limit": 1_001}), "limit"),
        (json!({"all": true, "job_id": "x"}), "job_id"),
        (json!({"every": true}), "every"),
    ] {
        let (named, problem) = house.post("/dead-letters/redrive", &body).await.refused(422);
        assert_eq!(named, field, "{body}: {problem}");
    }
    house.close().await;
}
