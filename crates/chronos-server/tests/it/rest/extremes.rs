//! Times at the ends of time, and schedules whose time is over: refused by their field, over REST and gRPC.

use chronos_server::proto::schedule::Cadence;
use chronos_server::proto::{CreateJobRequest, Cron, JobSpec, Schedule};
use prost_types::Timestamp;
use serde_json::{Value, json};
use tonic::Code;

use super::text;
use crate::daemon::house::House;
use crate::daemon::{self, soon};

fn once(at: &Value) -> Value {
    json!({
        "name": "once", "schedule": {"type": "one_shot", "at": at},
        "target": {"type": "handler", "name": "succeed"},
    })
}

fn recurring(schedule: &Value) -> Value {
    let target = json!({"type": "handler", "name": "succeed"});
    json!({"name": "often", "schedule": schedule, "target": target})
}

async fn grpc(house: &mut House, cadence: Cadence) -> Result<String, tonic::Status> {
    let schedule = Some(Schedule { cadence: Some(cadence), ..Schedule::default() });
    let spec = Some(JobSpec { schedule, ..daemon::hourly("grpc", "succeed") });
    let made = soon(house.client.create_job(CreateJobRequest { spec })).await?;
    Ok(made.into_inner().id)
}

#[tokio::test]
async fn a_cron_expression_of_past_years_is_refused_when_the_job_is_made() {
    let mut house = House::open().await;
    for expression in ["0 0 0 1 1 * 2020", "0 0 0 1 1 * 2019-2021", "0 0 0 1 1 * 1970,1999"] {
        let job = recurring(&json!({"type": "cron", "expression": expression}));
        let (field, problem) = house.post("/jobs/recurring", &job).await.refused(422);
        assert!(field.starts_with("schedule"), "{expression}: {problem}");
        let cron = Cron { expression: expression.into(), timezone: String::new() };
        let refused = grpc(&mut house, Cadence::Cron(cron)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().starts_with("spec.schedule"), "{refused}");
    }
    let ahead = json!({"type": "cron", "expression": "0 0 0 1 1 * 2096"});
    let made = house.make(&recurring(&ahead)).await;
    assert_eq!(made["next_execution_time"], "2096-01-01T00:00:00Z");
    let id = text(&made["id"]);
    let behind = json!({"schedule": {"expression": "0 0 0 1 1 * 2020"}});
    let (field, problem) = house.patch(id, "", &behind).await.refused(422);
    assert!(field.starts_with("schedule"), "{problem}");
    house.close().await;
}

#[tokio::test]
async fn an_instant_beyond_the_years_that_there_are_is_refused_by_its_field() {
    let house = House::open().await;
    for at in [
        json!("10000-01-01T00:00:00Z"),
        json!("+010000-01-01T00:00:00Z"),
        json!("9999-12-31T23:59:59-01:00"),
        json!("-0001-01-01T00:00:00Z"),
        json!("0000-12-31T23:59:59Z"),
        json!("2096-01-01T00:00:-1Z"),
        json!("99999999999999999999-01-01T00:00:00Z"),
        json!(-1),
        json!(9_223_372_036_854_775_807_u64),
        json!(1e300),
        json!(""),
    ] {
        let (field, problem) = house.post("/jobs", &once(&at)).await.refused(422);
        assert_eq!(field, "schedule.at", "{at}: {problem}");
    }
    for (schedule, field) in [
        (json!({"type": "interval", "seconds": -1}), "schedule.seconds"),
        (json!({"type": "interval", "seconds": 0}), "schedule.seconds"),
        (json!({"type": "interval", "seconds": 0.5}), "schedule.seconds"),
        (json!({"type": "interval", "seconds": u64::MAX}), "schedule.seconds"),
        (
            json!({"type": "interval", "seconds": 5, "start_at": "10000-01-01T00:00:00Z"}),
            "schedule.start_at",
        ),
        (json!({"type": "interval", "seconds": 5, "end_at": -1}), "schedule.end_at"),
    ] {
        let (named, problem) =
            house.post("/jobs/recurring", &recurring(&schedule)).await.refused(422);
        assert_eq!(named, field, "{schedule}: {problem}");
    }
    house.close().await;
}

#[tokio::test]
async fn the_last_year_that_there_is_waits_and_holds_up_nobody() {
    let mut house = House::open().await;
    let last = "9999-12-31T23:59:59Z";
    let made = house.post("/jobs", &once(&json!(last))).await.expect(201);
    assert_eq!((&made["next_execution_time"], &made["status"]), (&json!(last), &json!("PENDING")));
    let seconds = 253_402_300_799;
    let id = grpc(&mut house, Cadence::OneShot(Timestamp { seconds, nanos: 0 })).await.unwrap();
    assert_eq!(house.get(&format!("/jobs/{id}")).await.expect(200)["next_execution_time"], last);
    for (seconds, nanos) in [(seconds + 1, 0), (i64::MAX, 0), (i64::MIN, 0), (0, -1)] {
        let at = Timestamp { seconds, nanos };
        let refused = grpc(&mut house, Cadence::OneShot(at)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().starts_with("spec.schedule.one_shot: "), "{refused}");
    }
    // Jitter and retries past the end of time stop there.
    let mut spread = once(&json!(last));
    spread["name"] = json!("spread");
    spread["jitter_seconds"] = json!(u32::MAX);
    house.post("/jobs", &spread).await.expect(201);
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&made["id"]))).await.expect(201);
    house.wait_for(text(&run["id"]), "SUCCESS").await;
    house.close().await;
}
