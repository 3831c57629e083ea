//! Whoever watches: the audit as it is written, jobs that changed, their newest runs, and the runs to come.

use serde_json::{Value, json};

use super::events::{run, says, stream};
use super::{hourly, send, text};
use crate::daemon::house::House;

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| text(&event["type"])).collect()
}

/// The ids that the lines of a stream have, in order.
async fn ids(house: &House, path: &str) -> Vec<String> {
    let answer = lines(house, path).await;
    answer.lines().filter_map(|line| line.strip_prefix("id: ")).map(Into::into).collect()
}

async fn lines(house: &House, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = house.address();
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    let pause = std::time::Duration::from_millis(500);
    while let Ok(Ok(1..)) = tokio::time::timeout(pause, connection.read_buf(&mut read)).await {}
    String::from_utf8_lossy(&read).into_owned()
}

#[tokio::test]
async fn the_audit_is_streamed_as_it_is_written_and_goes_on_where_it_was_cut_off() {
    let house = House::open().await;
    let [start] = &ids(&house, "/audit/stream").await[..] else { panic!("one mark") };
    let id = text(&house.make(&says("report")).await["id"]).to_owned();
    run(house.address(), &id).await;
    let path = format!("/audit/stream?after={start}&job={id}");
    let (events, _) = stream(house.address(), &path, "", 99_000).await;
    let listed = house.get(&format!("/audit?job={id}")).await.expect(200);
    let mut listed = listed["items"].as_array().unwrap().clone();
    listed.reverse();
    assert_eq!(events, listed, "what is streamed is what is listed");
    assert_eq!(types(&events)[0], "schedule.created");
    // The id of an event leads on after it.
    let marks = ids(&house, &path).await;
    let lines = format!("Last-Event-ID: {}\r\n", marks[1]);
    let again = format!("/audit/stream?after=latest&job={id}");
    let (rest, _) = stream(house.address(), &again, &lines, 99_000).await;
    assert_eq!(rest, events[1..]);
    let narrowed = format!("{path}&kind=schedule.fired");
    let (fired, _) = stream(house.address(), &narrowed, "", 99_000).await;
    assert_eq!(types(&fired), ["schedule.fired"]);
    for (query, field) in [
        ("after=x", "after"),
        ("after=9223372036854775807-0", "after"),
        ("kind=x", "kind"),
        ("limit=1", "limit"),
    ] {
        let answer = house.get(&format!("/audit/stream?{query}")).await;
        assert_eq!(answer.refused(400).0, field, "{query}");
    }
    house.close().await;
}

#[tokio::test]
async fn the_newest_runs_of_several_jobs_are_told_at_once() {
    let house = House::open().await;
    let fail = house.make(&hourly("f", "fail")).await;
    let idle = house.make(&hourly("i", "succeed")).await;
    let path = format!("/jobs/{}/run", text(&fail["id"]));
    let done = send(house.address(), "POST", &path, "", b"");
    house.wait_for(text(&done.await.expect(201)["id"]), "FAILED").await;
    let ids = format!("{},{}", text(&fail["id"]), text(&idle["id"]));
    let told = house.get(&format!("/jobs/recent?ids={ids}")).await.expect(200);
    assert_eq!(told["items"][0]["job_id"], fail["id"]);
    assert_eq!(told["items"][0]["runs"][0]["status"], "FAILED");
    assert!(told["items"][0]["runs"][0]["duration_ms"].is_u64());
    assert_eq!(told["items"][1], json!({"job_id": idle["id"], "runs": []}));
    let many = vec![text(&fail["id"]); 101].join(",");
    for query in [String::new(), "?ids=x".to_owned(), format!("?ids={many}")] {
        assert_eq!(house.get(&format!("/jobs/recent{query}")).await.refused(400).0, "ids");
    }
    house.close().await;
}

#[tokio::test]
async fn the_herd_is_seen_before_it_comes() {
    let house = House::open().await;
    for number in 0..40 {
        let mut job = says(&format!("daily {number}"));
        job["schedule"] = json!({"type": "cron", "expression": "30 4 * * *", "timezone": "UTC"});
        house.make(&job).await;
    }
    let herd = house.get("/monitoring/herd").await.expect(200);
    assert_eq!((&herd["complete"], &herd["bin_seconds"]), (&json!(true), &json!(60)));
    assert_eq!(herd["nominal"].as_array().unwrap().len(), 1_440);
    assert!(text(&herd["busiest"]["at"]).contains("T04:30:00"), "{}", herd["busiest"]);
    assert_eq!(herd["busiest"]["slots"], 40);
    let most = herd["nominal_peak"].as_array().unwrap().iter().max_by_key(|it| it.as_u64());
    assert_eq!(most, Some(&json!(40)));
    // What was found is good for a while.
    house.make(&says("another")).await;
    assert_eq!(house.get("/monitoring/herd").await.expect(200), herd);
    house.close().await;
}

#[tokio::test]
async fn jobs_are_listed_by_their_next_runs_page_by_page() {
    let house = House::open().await;
    let mut hours: Vec<u64> = (1..=30).map(|number| number * 7 % 31).collect();
    // Several at the very same time, more than a page holds.
    hours.extend([40; 12]);
    for (number, hour) in hours.iter().enumerate() {
        let mut job = says(&format!("job {number}"));
        job["schedule"] = json!({"type": "one_shot", "at": format!("2096-01-{:02}T{:02}:00:00Z", 1 + hour / 24, hour % 24)});
        house.post("/jobs", &job).await.expect(201);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let path =
            format!("/jobs?sort=next_run&next_run_after=2096-01-01T00:00:00Z&limit=5{cursor}");
        let page = house.get(&path).await.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 5);
        let told = items.iter().map(|job| {
            (text(&job["next_execution_time"]).to_owned(), text(&job["name"]).to_owned())
        });
        // The house has jobs of its own.
        seen.extend(told.filter(|(_, name)| name.starts_with("job ")));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), hours.len());
    assert!(seen.is_sorted_by_key(|(at, _)| at.clone()), "{seen:?}");
    let names: std::collections::BTreeSet<&String> = seen.iter().map(|(_, name)| name).collect();
    assert_eq!(names.len(), hours.len(), "each once");
    assert_eq!(house.get("/jobs?sort=name").await.refused(400).0, "sort");
    let foreign = house.get("/jobs?limit=1").await.expect(200)["next_cursor"].clone();
    let path = format!("/jobs?sort=next_run&cursor={}", text(&foreign));
    assert_eq!(house.get(&path).await.refused(400).0, "cursor");
    house.close().await;
}
