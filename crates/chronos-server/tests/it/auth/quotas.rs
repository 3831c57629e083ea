//! Quotas: what one account may take up, named where it is refused, on every way in.

use chronos_server::daemon::ServeConfig;
use chronos_server::proto::{CreateJobRequest, ListJobsRequest, UpdateJobRequest};
use chronos_server::quotas::Quotas;
use futures::future::join_all;
use serde_json::{Value, json};
use tonic::Code;
use tonic_types::StatusExt;

use super::{Estate, Someone, credentials};
use crate::daemon::soon;
use crate::rest::{Answer, hourly, text};

/// A daemon with these quotas; Ada is its admin, and Bob a user.
async fn estate(change: impl FnOnce(&mut Quotas)) -> (Estate, Someone, Someone) {
    let estate = Estate::with(|config: &mut ServeConfig| change(&mut config.auth.quotas)).await;
    let anyone = estate.anyone();
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    let (bob, _) = ada.hire("bob", "user").await;
    (estate, ada, bob)
}

/// A job like any other, but for its schedule.
fn scheduled(name: &str, schedule: Value) -> Value {
    let mut job = hourly(name, "succeed");
    job["schedule"] = schedule;
    job
}

/// The quota that an answer names, and its value.
fn quota(answer: &Answer) -> (String, u64) {
    let problem: Value = serde_json::from_str(&answer.text).unwrap();
    let quota = &problem["quota"];
    (text(&quota["name"]).into(), quota["value"].as_u64().unwrap())
}

#[tokio::test]
async fn slots_of_a_users_job_keep_their_distance() {
    let (estate, ada, bob) = estate(|_| {}).await;
    let often = [
        (json!({"type": "interval", "seconds": 59}), "schedule.seconds"),
        (json!({"type": "cron", "expression": "0,30 * * * * *"}), "schedule.expression"),
        (json!({"type": "cron", "expression": "59 59 * * * *"}), ""),
        (json!({"type": "interval", "seconds": 60}), ""),
        (json!({"type": "cron", "expression": "* * * * *"}), ""),
    ];
    for (number, (schedule, field)) in often.iter().enumerate() {
        let job = scheduled(&format!("job {number}"), schedule.clone());
        let answer = bob.post("/jobs/recurring", &job).await;
        if field.is_empty() {
            answer.expect(201);
        } else {
            assert_eq!(quota(&answer), ("user_min_interval_secs".into(), 60));
            let (named, detail) = answer.refused(422);
            assert_eq!(named, *field);
            assert!(detail.contains("user_min_interval_secs of 60"), "{detail}");
        }
        ada.post("/jobs/recurring", &job).await.expect(201);
    }
    // A one-time job has no distance to keep.
    bob.post("/jobs", &json!({"target": {"type": "handler", "name": "succeed"}})).await.expect(201);
    estate.close().await;
}

#[tokio::test]
async fn runs_of_a_users_job_do_not_pile_up() {
    let (estate, ada, bob) = estate(|quotas| quotas.user_max_runs_per_job = 3).await;
    let asked = [
        (json!({"overlap_policy": "concurrent"}), "max_concurrent"),
        (json!({"overlap_policy": "concurrent", "max_concurrent": 4}), "max_concurrent"),
        (json!({"overlap_policy": "queue", "max_queued": 4}), "max_queued"),
        (json!({"overlap_policy": "concurrent", "max_concurrent": 3}), ""),
        (json!({"overlap_policy": "queue", "max_queued": 3}), ""),
        (json!({"overlap_policy": "replace"}), ""),
    ];
    for (number, (overlap, field)) in asked.iter().enumerate() {
        let mut job = hourly(&format!("job {number}"), "succeed");
        job.as_object_mut().unwrap().extend(overlap.as_object().unwrap().clone());
        let answer = bob.post("/jobs/recurring", &job).await;
        if field.is_empty() {
            answer.expect(201);
        } else {
            assert_eq!(quota(&answer), ("user_max_runs_per_job".into(), 3));
            let (named, detail) = answer.refused(422);
            assert_eq!(named, *field);
            assert!(detail.contains("a number from 1 to 3"), "{detail}");
        }
        ada.post("/jobs/recurring", &job).await.expect(201);
    }
    // However often someone asks, no more wait than the job's own bound admits.
    let mut job = hourly("asked for often", "wait");
    job["overlap_policy"] = json!("concurrent");
    job["max_concurrent"] = json!(3);
    let id = text(&bob.post("/jobs/recurring", &job).await.expect(201)["id"]).to_owned();
    let path = format!("/jobs/{id}/run");
    for _ in 0..3 {
        bob.post(&path, &json!({})).await.expect(201);
    }
    bob.post(&path, &json!({})).await.refused(409);
    estate.close().await;
}

#[tokio::test]
async fn a_change_is_held_to_the_quotas_of_whoever_makes_it() {
    let (estate, ada, bob) = estate(|quotas| quotas.max_payload_bytes = 10).await;
    let job = bob.post("/jobs/recurring", &hourly("mine", "succeed")).await.expect(201);
    let path = format!("/jobs/{}", text(&job["id"]));
    let faster = json!({"schedule": {"type": "interval", "seconds": 5}});
    assert_eq!(bob.patch(&path, &faster).await.refused(422).0, "schedule.seconds");
    ada.patch(&path, &faster).await.expect(200);
    // What an admin allowed may stay.
    bob.patch(&path, &json!({"max_retry": 2})).await.expect(200);
    assert_eq!(
        bob.patch(&path, &json!({"schedule": {"seconds": 4}})).await.refused(422).0,
        "schedule.seconds"
    );
    let target = json!({"type": "http", "url": "https://example.com/"});
    let long = json!({"target": target, "payload": "eleven long"});
    let answer = bob.patch(&path, &long).await;
    assert_eq!(quota(&answer), ("max_payload_bytes".into(), 10));
    assert_eq!(answer.refused(422).0, "payload");
    ada.patch(&path, &long).await.refused(422);
    bob.patch(&path, &json!({"target": target, "payload": "ten bytes."})).await.expect(200);
    estate.close().await;
}

#[tokio::test]
async fn a_user_has_so_many_jobs_and_an_admin_any_number() {
    let (estate, ada, bob) = estate(|quotas| quotas.user_max_jobs = 3).await;
    let once = |name: &str| {
        let body = hourly(name, "succeed").to_string();
        let lines = format!("Content-Type: application/json\r\nIdempotency-Key: {name}\r\n");
        let bob = bob.clone();
        async move { bob.send("POST", "/jobs/recurring", &lines, body.as_bytes()).await }
    };
    // However they come, at once or one by one.
    let answers = join_all((0..8).map(|number| {
        let (bob, job) = (bob.clone(), hourly(&format!("at once {number}"), "succeed"));
        async move { bob.post("/jobs/recurring", &job).await.status }
    }));
    let mut answers = answers.await;
    answers.sort_unstable();
    assert_eq!(answers, [201, 201, 201, 429, 429, 429, 429, 429]);
    let answer = once("one-more").await;
    assert_eq!(quota(&answer), ("user_max_jobs".into(), 3));
    assert_eq!(answer.header("retry-after"), None, "waiting alone does not help");
    assert!(answer.refused(429).1.contains("user_max_jobs of 3 is used up"));
    let lines = "Content-Type: application/x-ndjson\r\n";
    let line = format!("{}\n", hourly("bulk", "succeed"));
    let told = bob.send("POST", "/jobs/bulk", lines, line.as_bytes()).await.expect(200);
    assert_eq!((&told["status"], &told["problem"]["quota"]["value"]), (&json!(429), &json!(3)));
    // One that goes makes room, and a request that was done is known when it is full again.
    let jobs = bob.get("/jobs").await.expect(200);
    let first = text(&jobs["items"][0]["id"]);
    bob.ask("DELETE", &format!("/jobs/{first}?purge=true")).await;
    let made = once("one-more").await.expect(201);
    assert_eq!(once("one-more").await.expect(200)["id"], made["id"]);
    once("another").await.refused(429);
    for number in 0..5 {
        let job = hourly(&format!("admin {number}"), "succeed");
        ada.post("/jobs/recurring", &job).await.expect(201);
    }
    estate.close().await;
}

#[tokio::test]
async fn an_account_has_no_more_subscriptions_than_it_may() {
    let (estate, ada, bob) = estate(|quotas| quotas.user_max_subscriptions = 2).await;
    let subscribe = async |someone: &Someone, number: usize| {
        let url = "https://example.com/events";
        let asked = json!({"name": format!("number {number}"), "url": url});
        someone.post("/subscriptions", &asked).await
    };
    let mut made = Vec::new();
    for number in 0..2 {
        made.push(subscribe(&bob, number).await.expect(201));
        subscribe(&ada, number).await.expect(201);
    }
    let answer = subscribe(&bob, 2).await;
    assert_eq!(quota(&answer), ("user_max_subscriptions".into(), 2));
    assert!(answer.header("retry-after").is_none());
    answer.refused(429);
    subscribe(&ada, 2).await.expect(201);
    let path = format!("/subscriptions/{}", text(&made[0]["id"]));
    assert_eq!(bob.ask("DELETE", &path).await.status, 204);
    subscribe(&bob, 2).await.expect(201);
    estate.close().await;
}

#[tokio::test]
async fn an_admin_is_held_to_what_is_configured() {
    let (estate, ada, _) = estate(|quotas| {
        quotas.admin_max_jobs = 1;
        quotas.admin_min_interval = std::time::Duration::from_secs(10);
    })
    .await;
    let fast = scheduled("fast", json!({"type": "interval", "seconds": 9}));
    let answer = ada.post("/jobs/recurring", &fast).await;
    assert_eq!(quota(&answer), ("admin_min_interval_secs".into(), 10));
    ada.post("/jobs/recurring", &hourly("one", "succeed")).await.expect(201);
    let answer = ada.post("/jobs/recurring", &hourly("two", "succeed")).await;
    assert_eq!(quota(&answer), ("admin_max_jobs".into(), 1));
    estate.close().await;
}

#[tokio::test]
async fn quotas_hold_over_grpc() {
    let (estate, _, bob) = estate(|quotas| quotas.user_max_jobs = 1).await;
    let mut grpc = bob.grpc().await;
    let spec = |name: &str, seconds| {
        let mut spec = crate::daemon::hourly(name, "succeed");
        let schedule = spec.schedule.as_mut().unwrap();
        let interval = chronos_server::proto::Interval { seconds, fixed_delay: false };
        schedule.cadence = Some(chronos_server::proto::schedule::Cadence::Interval(interval));
        Some(spec)
    };
    let create = |name, seconds| CreateJobRequest { spec: spec(name, seconds) };
    let refused = soon(grpc.create_job(create("fast", 59))).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let details = refused.get_details_bad_request().unwrap();
    assert_eq!(details.field_violations[0].field, "spec.schedule.interval.seconds");
    let job = soon(grpc.create_job(create("one", 60))).await.unwrap().into_inner().id;
    let refused = soon(grpc.create_job(create("two", 60))).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let details = refused.get_details_quota_failure().unwrap();
    assert_eq!(details.violations[0].subject, "user_max_jobs");
    let update = UpdateJobRequest { job, spec: spec("one", 30), ..UpdateJobRequest::default() };
    assert_eq!(soon(grpc.update_job(update)).await.unwrap_err().code(), Code::InvalidArgument);
    drop(grpc);
    estate.close().await;
}

#[tokio::test]
async fn whoever_asks_too_often_waits_and_nobody_else_does() {
    let (estate, ada, bob) = estate(|quotas| quotas.max_requests_per_second = 3).await;
    let answers = join_all((0..20).map(|_| bob.get("/jobs"))).await;
    let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 429).collect();
    // Twice as many as in a second may come at once; some come back while the others are on their way.
    assert!((1..=14).contains(&refused.len()), "{}", refused.len());
    assert_eq!(quota(refused[0]), ("max_requests_per_second".into(), 3));
    assert_eq!(refused[0].header("retry-after"), Some("1"));
    // A key of his, and gRPC, draw on the same allowance.
    let mut grpc = bob.grpc().await;
    let told = join_all((0..20).map(|_| {
        let mut grpc = grpc.clone();
        async move { soon(grpc.list_jobs(ListJobsRequest::default())).await.err() }
    }));
    let told = told.await;
    let exhausted = |status: &tonic::Status| status.code() == Code::ResourceExhausted;
    assert!(told.iter().flatten().any(exhausted), "{told:?}");
    assert!(told.iter().flatten().all(exhausted), "{told:?}");
    ada.get("/jobs").await.expect(200);
    // It comes back by itself.
    soon(async { while grpc.list_jobs(ListJobsRequest::default()).await.is_err() {} }).await;
    drop(grpc);
    estate.close().await;
}
