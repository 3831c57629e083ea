//! Strangers: what is somebody else's is not there, however it is asked for.

use chronos_server::auth::TABLE;
use chronos_server::proto::watch_executions_request::Of;
use chronos_server::proto::{
    CancelExecutionRequest, CreateJobRequest, DeleteJobRequest, GetExecutionRequest, GetJobRequest,
    GetSchedulerStatusRequest, ListExecutionsRequest, ListJobsRequest, PauseJobRequest,
    ResumeJobRequest, RunJobRequest, UpdateJobRequest, WatchExecutionsRequest,
};
use serde_json::{Value, json};
use tonic::Code;

use super::{Estate, Someone};
use crate::daemon::soon;
use crate::rest::{hourly, text};

const GHOST: &str = "01890000-0000-7000-8000-000000000000";

/// What Bob has: a job, an execution that failed for good, a subscription and a backfill.
struct Belongings {
    job: String,
    execution: String,
    subscription: String,
    backfill: String,
}

async fn belongings(bob: &Someone) -> Belongings {
    let job = bob.post("/jobs/recurring", &hourly("precious", "fail")).await.expect(201);
    let job = text(&job["id"]).to_owned();
    let run = bob.ask("POST", &format!("/jobs/{job}/run")).await.expect(201);
    let execution = text(&run["id"]).to_owned();
    let path = format!("/executions/{execution}");
    soon(async { while bob.get(&path).await.expect(200)["status"] != "FAILED" {} }).await;
    let subscription = json!({"name": "told", "url": "https://example.com/events"});
    let subscription = bob.post("/subscriptions", &subscription).await.expect(201);
    let subscription = text(&subscription["id"]).to_owned();
    let cron = json!({"type": "cron", "expression": "0 * * * *", "timezone": "UTC"});
    let mut past = hourly("past", "succeed");
    past["schedule"] = cron;
    let past = bob.post("/jobs/recurring", &past).await.expect(201);
    let path = format!("/jobs/{}/backfills", text(&past["id"]));
    let backfill = json!({"from": "2020-01-01T00:00:00Z", "to": "2020-01-01T01:00:00Z"});
    let backfill = bob.post(&path, &backfill).await.expect(201);
    let backfill = text(&backfill["id"]).to_owned();
    Belongings { job, execution, subscription, backfill }
}

/// The answer with its id taken out, so that two can be compared.
fn without(id: &str, answer: &crate::rest::Answer) -> (u16, String) {
    (answer.status, answer.text.replace(id, "ID"))
}

#[tokio::test]
async fn what_is_somebody_elses_is_not_there_on_any_route() {
    let (estate, ada) = Estate::open().await;
    let (bob, bob_id) = ada.hire("bob", "user").await;
    let (eve, _) = ada.hire("eve", "user").await;
    let Belongings { job, execution, subscription, backfill } = belongings(&bob).await;
    let mut tried = 0;
    for (asked, _) in TABLE.iter().filter(|(asked, _)| asked.contains("{id}")) {
        let (method, path) = asked.split_once(' ').unwrap();
        let id = match path.split('/').nth(1).unwrap() {
            "jobs" | "history" => &job,
            "executions" => &execution,
            "subscriptions" => &subscription,
            "backfills" => &backfill,
            // Users are for admins; keys, and policies that all share, have tests of their own.
            "users" | "api-keys" | "quiet-hours" => continue,
            other => panic!("nobody tries the things at /{other}"),
        };
        let is_patch = method == "PATCH" || *asked == "POST /jobs/{id}/preview";
        let body = match *asked {
            "POST /jobs/{id}/backfills" => "{\"from\": \"2020-01-01T00:00:00Z\"}",
            _ if is_patch => "{\"max_retry\": 5}",
            _ => "",
        };
        let lines = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let path = if path.ends_with("/explain") {
            format!("{path}?at=2026-01-01T00:00:00Z")
        } else {
            path.to_owned()
        };
        let theirs = path.replace("{id}", id);
        let theirs = eve.send(method, &theirs, lines, body.as_bytes()).await;
        let nobodys = path.replace("{id}", GHOST);
        let nobodys = eve.send(method, &nobodys, lines, body.as_bytes()).await;
        assert_eq!(without(id, &theirs), without(GHOST, &nobodys), "{asked}");
        theirs.refused(404);
        tried += 1;
    }
    assert_eq!(tried, 26);
    let recent = eve.get(&format!("/jobs/recent?ids={job}")).await.expect(200);
    assert_eq!(recent["items"], json!([]));
    eve.ask("DELETE", &format!("/jobs/{job}?purge=true")).await.refused(404);
    assert_eq!(eve.get("/jobs").await.expect(200)["items"], json!([]));
    assert_eq!(eve.get("/jobs?name=precious").await.expect(200)["items"], json!([]));
    assert_eq!(eve.get(&format!("/jobs?owner={bob_id}")).await.refused(400).0, "owner");
    assert_eq!(eve.get("/dead-letters").await.expect(200)["items"], json!([]));
    let of_job = format!("/dead-letters?job_id={job}");
    assert_eq!(eve.get(&of_job).await.expect(200)["items"], json!([]));
    let redriven =
        eve.post("/dead-letters/redrive", &json!({"ids": [execution]})).await.expect(200);
    assert_eq!(redriven["refused"][0]["problem"]["status"], 404);
    let redriven = eve.post("/dead-letters/redrive", &json!({"all": true})).await.expect(200);
    assert_eq!(redriven["redriven"], json!([]));
    // All of it is still Bob's, as it was.
    let kept = bob.get(&format!("/jobs/{job}")).await.expect(200);
    assert_eq!((&kept["version"], &kept["enabled"]), (&json!(1), &json!(true)));
    assert_eq!(bob.get("/dead-letters").await.expect(200)["items"][0]["id"], json!(execution));
    estate.close().await;
}

#[tokio::test]
async fn a_cursor_and_a_request_key_of_somebody_else_lead_nowhere() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let (eve, _) = ada.hire("eve", "user").await;
    for name in ["a", "b"] {
        bob.post("/jobs/recurring", &hourly(name, "succeed")).await.expect(201);
    }
    let page = bob.get("/jobs?limit=1").await.expect(200);
    let path = format!("/jobs?limit=1&cursor={}", text(&page["next_cursor"]));
    assert_eq!(eve.get(&path).await.refused(400).0, "cursor");
    let body = hourly("once", "succeed").to_string();
    let lines = "Content-Type: application/json\r\nIdempotency-Key: same\r\n";
    let bobs = bob.send("POST", "/jobs/recurring", lines, body.as_bytes()).await.expect(201);
    let eves = eve.send("POST", "/jobs/recurring", lines, body.as_bytes()).await.expect(201);
    assert_ne!(bobs["id"], eves["id"], "names and keys are each user's own");
    estate.close().await;
}

#[tokio::test]
async fn a_job_is_whoever_made_its_and_stays_so() {
    let (estate, ada) = Estate::open().await;
    let (bob, bob_id) = ada.hire("bob", "user").await;
    for field in [
        "created_by",
        "owner",
        "owner_id",
        "user_id",
        "tenant_id",
        "role",
        "id",
        "version",
        "status",
        "next_execution_time",
        "retry_count",
        "fencing_token",
    ] {
        let mut body = hourly("mine", "succeed");
        body[field] = json!("somebody");
        let (named, _) = bob.post("/jobs/recurring", &body).await.refused(422);
        assert_eq!(named, field);
    }
    let job = bob.post("/jobs/recurring", &hourly("mine", "succeed")).await.expect(201);
    assert_eq!(job["created_by"], json!(bob_id));
    let path = format!("/jobs/{}", text(&job["id"]));
    for field in ["created_by", "owner"] {
        bob.patch(&path, &json!({field: "somebody"})).await.refused(422);
    }
    // An admin may change it, which does not make it the admin's.
    let same = ada.patch(&path, &json!({"max_retry": 0})).await.expect(200);
    assert_eq!(same["version"], 1, "nothing changed");
    let edited = ada.patch(&path, &json!({"max_retry": 2})).await.expect(200);
    assert_eq!((&edited["created_by"], &edited["version"]), (&json!(bob_id), &json!(2)));
    let line = format!("{}\n", hourly("bulk", "succeed"));
    let lines = "Content-Type: application/x-ndjson\r\n";
    let made = bob.send("POST", "/jobs/bulk", lines, line.as_bytes()).await.expect(200);
    let made = bob.get(&format!("/jobs/{}", text(&made["id"]))).await.expect(200);
    assert_eq!(made["created_by"], json!(bob_id));
    let listed = ada.get(&format!("/jobs?owner={bob_id}")).await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    // What was there before there were users is nobody's but an admin's to see.
    assert!(ada.get("/jobs?owner=").await.expect(200)["items"].as_array().unwrap().len() >= 4);
    assert_eq!(bob.get("/jobs").await.expect(200)["items"].as_array().unwrap().len(), 2);
    estate.close().await;
}

#[tokio::test]
async fn a_viewer_sees_everything_and_changes_nothing() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let Belongings { job, execution, .. } = belongings(&bob).await;
    assert_eq!(vic.get(&format!("/jobs/{job}")).await.expect(200)["name"], "precious");
    vic.get(&format!("/jobs/{job}/executions")).await.expect(200);
    vic.get(&format!("/executions/{execution}")).await.expect(200);
    assert_eq!(vic.get("/dead-letters").await.expect(200)["items"][0]["id"], json!(execution));
    vic.get("/monitoring/jobs").await.expect(200);
    let before = ada.get(&format!("/jobs/{job}")).await.expect(200);
    for (method, path) in [
        ("PATCH", format!("/jobs/{job}")),
        ("DELETE", format!("/jobs/{job}")),
        ("POST", format!("/jobs/{job}/pause")),
        ("POST", format!("/jobs/{job}/run")),
        ("POST", format!("/executions/{execution}/cancel")),
        ("POST", "/dead-letters/redrive".into()),
        ("POST", "/jobs".into()),
    ] {
        vic.ask(method, &path).await.refused(403);
    }
    assert_eq!(ada.get(&format!("/jobs/{job}")).await.expect(200), before);
    let mut grpc = vic.grpc().await;
    let named = GetJobRequest { job: job.clone() };
    assert_eq!(soon(grpc.get_job(named)).await.unwrap().into_inner().id, job);
    let refused = soon(grpc.run_job(RunJobRequest { job })).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    drop(grpc);
    estate.close().await;
}

#[tokio::test]
async fn what_is_somebody_elses_is_not_there_over_grpc_either() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let (eve, _) = ada.hire("eve", "user").await;
    let Belongings { job, execution, .. } = belongings(&bob).await;
    let mut grpc = eve.grpc().await;
    let mut told = Vec::new();
    for job in [job.clone(), "precious".into(), "succeed".into()] {
        let watch = |of| WatchExecutionsRequest { of: Some(of) };
        told.push(soon(grpc.get_job(GetJobRequest { job: job.clone() })).await.unwrap_err());
        let update = UpdateJobRequest { job: job.clone(), ..UpdateJobRequest::default() };
        told.push(soon(grpc.update_job(update)).await.unwrap_err());
        told.push(soon(grpc.delete_job(DeleteJobRequest { job: job.clone() })).await.unwrap_err());
        let pause = PauseJobRequest { job: job.clone(), ..PauseJobRequest::default() };
        told.push(soon(grpc.pause_job(pause)).await.unwrap_err());
        told.push(soon(grpc.resume_job(ResumeJobRequest { job: job.clone() })).await.unwrap_err());
        told.push(soon(grpc.run_job(RunJobRequest { job: job.clone() })).await.unwrap_err());
        let list = ListExecutionsRequest { job: job.clone(), ..ListExecutionsRequest::default() };
        told.push(soon(grpc.list_executions(list)).await.unwrap_err());
        let status = GetSchedulerStatusRequest { job_name: job.clone() };
        told.push(soon(grpc.get_scheduler_status(status)).await.unwrap_err());
        told.push(soon(grpc.watch_executions(watch(Of::Job(job)))).await.unwrap_err());
    }
    let id = execution.clone();
    told.push(soon(grpc.get_execution(GetExecutionRequest { id: id.clone() })).await.unwrap_err());
    let cancel = CancelExecutionRequest { id: id.clone() };
    told.push(soon(grpc.cancel_execution(cancel)).await.unwrap_err());
    let watch = WatchExecutionsRequest { of: Some(Of::Execution(id)) };
    told.push(soon(grpc.watch_executions(watch)).await.unwrap_err());
    assert_eq!(told.len(), 30);
    for status in told {
        assert_eq!(status.code(), Code::NotFound, "{status}");
    }
    let listed = soon(grpc.list_jobs(ListJobsRequest::default())).await.unwrap().into_inner();
    assert!(listed.jobs.is_empty() && listed.next_cursor.is_empty());
    let all = GetSchedulerStatusRequest::default();
    assert!(soon(grpc.get_scheduler_status(all)).await.unwrap().into_inner().jobs.is_empty());
    // What she makes is hers, under the same name.
    let spec = Some(crate::daemon::hourly("precious", "succeed"));
    let made = soon(grpc.create_job(CreateJobRequest { spec })).await.unwrap().into_inner();
    assert_ne!(made.id, job);
    let found = soon(grpc.get_job(GetJobRequest { job: "precious".into() })).await.unwrap();
    assert_eq!(found.into_inner().id, made.id);
    let rest: Value = eve.get(&format!("/jobs/{}", made.id)).await.expect(200);
    assert_eq!(rest["name"], "precious");
    drop(grpc);
    estate.close().await;
}

#[tokio::test]
async fn a_cursor_of_somebody_else_leads_to_ones_own_jobs_over_grpc() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let (eve, _) = ada.hire("eve", "user").await;
    let mut made = Vec::new();
    for (number, someone) in [&bob, &eve, &bob, &eve, &bob].into_iter().enumerate() {
        let job = hourly(&format!("job {number}"), "succeed");
        made.push(text(&someone.post("/jobs/recurring", &job).await.expect(201)["id"]).to_owned());
    }
    let (mut bobs, mut eves) = (bob.grpc().await, eve.grpc().await);
    let page = ListJobsRequest { limit: 1, cursor: String::new() };
    let page = soon(bobs.list_jobs(page)).await.unwrap().into_inner();
    assert!(!page.next_cursor.is_empty());
    let theirs = ListJobsRequest { limit: 10, cursor: page.next_cursor };
    let found = soon(eves.list_jobs(theirs)).await.unwrap().into_inner();
    let found: Vec<String> = found.jobs.into_iter().map(|job| job.id).collect();
    assert!(found.iter().all(|id| *id == made[1] || *id == made[3]), "{found:?} of {made:?}");
    // The executions of somebody else's job are not there, with a cursor or without.
    let run = bob.ask("POST", &format!("/jobs/{}/run", made[0])).await.expect(201);
    let cursor = text(&run["id"]).to_owned();
    let list = ListExecutionsRequest { job: made[0].clone(), limit: 1, cursor };
    assert_eq!(soon(eves.list_executions(list)).await.unwrap_err().code(), Code::NotFound);
    drop((bobs, eves));
    estate.close().await;
}

#[tokio::test]
async fn an_admin_finds_the_programs_own_jobs_by_name() {
    let (estate, ada) = Estate::open().await;
    let mut grpc = ada.grpc().await;
    let found = soon(grpc.get_job(GetJobRequest { job: "succeed".into() })).await.unwrap();
    assert_eq!(found.into_inner().id.len(), 36);
    drop(grpc);
    estate.close().await;
}

#[tokio::test]
async fn a_stream_ends_when_its_reader_is_shut_out() {
    let (estate, ada) = Estate::open().await;
    let (bob, id) = ada.hire("bob", "user").await;
    let job = bob.post("/jobs/recurring", &hourly("watched", "succeed")).await.expect(201);
    let watch = || WatchExecutionsRequest { of: Some(Of::Job(text(&job["id"]).into())) };
    let mut grpc = bob.grpc().await;
    let mut by_login = soon(grpc.watch_executions(watch())).await.unwrap().into_inner();
    let mut program = bob.key(&["read"]).await.grpc().await;
    let mut by_key = soon(program.watch_executions(watch())).await.unwrap().into_inner();
    let run = bob.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
    for stream in [&mut by_login, &mut by_key] {
        assert_eq!(json!(soon(stream.message()).await.unwrap().unwrap().id), run["id"]);
    }
    ada.patch(&format!("/users/{id}"), &json!({"disabled": true})).await.expect(200);
    for stream in [&mut by_login, &mut by_key] {
        let ended = soon(async {
            while stream.message().await?.is_some() {}
            Ok::<_, tonic::Status>(())
        });
        assert_eq!(ended.await.unwrap_err().code(), Code::Unauthenticated);
    }
    drop((grpc, program, by_login, by_key));
    estate.close().await;
}

#[tokio::test]
async fn a_stream_ends_when_its_reader_gets_another_role() {
    let (estate, ada) = Estate::open().await;
    let (bob, _) = ada.hire("bob", "user").await;
    let (vic, id) = ada.hire("vic", "viewer").await;
    let job = bob.post("/jobs/recurring", &hourly("watched", "succeed")).await.expect(201);
    let watch = WatchExecutionsRequest { of: Some(Of::Job(text(&job["id"]).into())) };
    let mut grpc = vic.grpc().await;
    let mut stream = soon(grpc.watch_executions(watch)).await.unwrap().into_inner();
    ada.patch(&format!("/users/{id}"), &json!({"role": "user"})).await.expect(200);
    let ended = soon(async { stream.message().await });
    assert_eq!(ended.await.unwrap_err().code(), Code::Unauthenticated);
    drop((grpc, stream));
    estate.close().await;
}

#[tokio::test]
async fn nobody_takes_every_place_that_there_is_for_streams() {
    let estate = Estate::with(|config| config.limits.watchers_per_account = 2).await;
    let anyone = estate.anyone();
    anyone.post("/auth/signup", &super::credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    let (bob, _) = ada.hire("bob", "user").await;
    let job = bob.post("/jobs/recurring", &hourly("watched", "succeed")).await.expect(201);
    let watch = || WatchExecutionsRequest { of: Some(Of::Job(text(&job["id"]).into())) };
    let (mut bobs, mut adas) = (bob.grpc().await, ada.grpc().await);
    let first = soon(bobs.watch_executions(watch())).await.unwrap();
    let second = soon(bobs.watch_executions(watch())).await.unwrap();
    let refused = soon(bobs.watch_executions(watch())).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    let others = soon(adas.watch_executions(watch())).await.unwrap();
    // One that is closed makes room.
    drop(first);
    soon(async { while bobs.watch_executions(watch()).await.is_err() {} }).await;
    drop((second, others, bobs, adas));
    estate.close().await;
}
