//! Requests that cannot be meant, each refused with the field at fault.

use chronos_server::proto::schedule::Cadence;
use chronos_server::proto::target::Kind;
use chronos_server::proto::{
    CatchUpPolicy, CreateJobRequest, Cron, GetJobRequest, GetSchedulerStatusRequest, Http,
    Interval, JobSpec, RunJobRequest, Schedule, Target, UpdateJobRequest, WatchExecutionsRequest,
    catch_up_policy,
};
use prost_types::{Duration, Timestamp};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::house::House;
use super::{every, hourly, soon};

fn cadence(cadence: Cadence) -> JobSpec {
    let schedule = Schedule { cadence: Some(cadence), ..Schedule::default() };
    JobSpec { schedule: Some(schedule), ..hourly("job", "succeed") }
}

fn cron(expression: &str, timezone: &str) -> JobSpec {
    let (expression, timezone) = (expression.into(), timezone.into());
    cadence(Cadence::Cron(Cron { expression, timezone }))
}

fn http(http: Http) -> JobSpec {
    let target = Target { kind: Some(Kind::Http(http)) };
    JobSpec { target: Some(target), ..hourly("job", "") }
}

/// A spec that cannot be meant, the field at fault, and a part of what is said about it.
type Case = (JobSpec, &'static str, &'static str);

fn good() -> JobSpec {
    hourly("job", "succeed")
}

fn bad_schedules() -> Vec<Case> {
    let bounded = |schedule: Schedule| JobSpec { schedule: Some(schedule), ..good() };
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let once = Timestamp { seconds: 0, nanos: 2_000_000_000 };
    let interval = |seconds| Cadence::Interval(Interval { seconds, fixed_delay: true });
    let too_late = Schedule { start_at: at(i64::MAX), ..every(1) };
    let backwards = Schedule { start_at: at(5), end_at: at(4), ..every(1) };
    vec![
        (JobSpec { schedule: None, ..good() }, "spec.schedule", "cron, interval or one_shot"),
        (bounded(Schedule::default()), "spec.schedule.cadence", "cron, interval or one_shot"),
        (cron("0 24 * * *", ""), "spec.schedule.cron.expression", "out of range"),
        (cron("0 0 30 2 *", ""), "spec.schedule.cron.expression", "30 2"),
        (cron("* * * * *", "Europ/Paris"), "spec.schedule.cron.timezone", "Europe/Paris"),
        (cadence(interval(0)), "spec.schedule.interval.seconds", "whole seconds"),
        (cadence(interval(u64::MAX)), "spec.schedule.interval.seconds", "whole seconds"),
        (cadence(Cadence::OneShot(once)), "spec.schedule.one_shot", "999,999,999 ns"),
        (bounded(too_late), "spec.schedule.start_at", "9999"),
        (bounded(backwards), "spec.schedule.end_at", "before start_at"),
        (bounded(Schedule { end_at: at(4), ..every(1) }), "spec.schedule", "no run after"),
    ]
}

fn bad_targets() -> Vec<Case> {
    let url = || Http { url: "http://example.com/".into(), ..Http::default() };
    let timeout = |seconds| {
        let timeout = Some(Duration { seconds, nanos: 0 });
        http(Http { timeout, ..url() })
    };
    let host = [("host".into(), "x".into())].into();
    let nowhere = JobSpec { target: Some(Target::default()), ..good() };
    let status = Http { expected_statuses: vec![70_000], ..url() };
    vec![
        (JobSpec { target: None, ..good() }, "spec.target", "http, message or handler"),
        (nowhere, "spec.target.kind", "http, message or handler"),
        (hourly("job", "unheard"), "spec.target.handler.name", "fail, stubborn, succeed, wait"),
        (http(Http::default()), "spec.target.http.url", "https://example.com/path"),
        (
            http(Http { url: "http://10.0.0.1/".into(), ..url() }),
            "spec.target.http.url",
            "--allow-target 10.0.0.1",
        ),
        (http(Http { method: "BREW".into(), ..url() }), "spec.target.http.method", "GET"),
        (http(Http { headers: host, ..url() }), "spec.target.http.headers", "host"),
        (http(status), "spec.target.http.expected_statuses", "use 200 to 599"),
        (timeout(-1), "spec.target.http.timeout", "-1 s"),
        (timeout(7_200), "spec.target.http.timeout", "3600s"),
    ]
}

fn bad_policies() -> Vec<Case> {
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    let capped = catch_up_policy::RunAllCapped { catch_up_max: 1_001 };
    let capped = CatchUpPolicy { kind: Some(catch_up_policy::Kind::RunAllCapped(capped)) };
    let capped = JobSpec { catch_up_policy: Some(capped), ..good() };
    let cap = "spec.catch_up_policy.run_all_capped.catch_up_max";
    let hasty = JobSpec { max_retry: 1, retry_base: seconds(0), ..good() };
    let short = JobSpec { max_execution_time: seconds(0), ..good() };
    let quiet = |id: &str| JobSpec { quiet_hours_policy_id: id.into(), ..good() };
    let unknown = quiet("01890a5d-ac96-774b-bcce-b302099a8057");
    vec![
        (JobSpec { name: String::new(), ..good() }, "spec.name", "1 to 200"),
        (JobSpec { name: "a\nb".into(), ..good() }, "spec.name", "control characters"),
        (capped, cap, "1 to 1000"),
        (JobSpec { misfire_grace: seconds(-5), ..good() }, "spec.misfire_grace", "-5 s"),
        (JobSpec { jitter_seconds: 1 << 40, ..good() }, "spec.jitter_seconds", "4294967295"),
        (JobSpec { max_retry: 1_001, ..good() }, "spec.max_retry", "0 to 1000"),
        (hasty, "spec.retry_base", "positive"),
        (short, "spec.max_execution_time", "positive"),
        (JobSpec { catch_up_window: seconds(0), ..good() }, "spec.catch_up_window", "positive"),
        (quiet("night"), "spec.quiet_hours_policy_id", "not an id"),
        (unknown, "spec.quiet_hours_policy_id", "no quiet-hours policy"),
    ]
}

fn assert_names(refused: &Status, field: &str, part: &str) {
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert!(refused.message().starts_with(&format!("{field}: ")), "{field}: {refused}");
    assert!(refused.message().contains(part), "{part}: {refused}");
    let violations = refused.get_details_bad_request().unwrap().field_violations;
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].field, field);
    assert_eq!(format!("{field}: {}", violations[0].description), refused.message());
}

#[tokio::test]
async fn a_bad_spec_is_refused_by_the_name_of_its_field() {
    let mut house = House::open().await;
    house.create(hourly("known", "succeed")).await;
    for (spec, field, part) in [bad_schedules(), bad_targets(), bad_policies()].concat() {
        let request = CreateJobRequest { spec: Some(spec.clone()) };
        assert_names(&soon(house.client.create_job(request)).await.unwrap_err(), field, part);
        let (job, spec) = ("known".into(), Some(spec));
        let request = UpdateJobRequest { job, spec, expected_version: 0 };
        let refused = soon(house.client.update_job(request)).await.unwrap_err();
        assert_names(&refused, field, part);
    }
    let nothing = soon(house.client.create_job(CreateJobRequest { spec: None })).await;
    assert_names(&nothing.unwrap_err(), "spec", "a job's spec");
    assert_eq!(house.job("known").await.version, 1);
    house.close().await;
}

#[tokio::test]
async fn unknown_and_missing_jobs_are_told_apart() {
    let mut house = House::open().await;
    let mut codes = Vec::new();
    for job in ["", "ghost", "01890a5d-ac96-774b-bcce-b302099a8057"] {
        let get = house.client.get_job(GetJobRequest { job: job.into() }).await;
        let run = house.client.run_job(RunJobRequest { job: job.into() }).await;
        codes.push((get.unwrap_err().code(), run.unwrap_err().code()));
    }
    let missing = (Code::InvalidArgument, Code::InvalidArgument);
    let unknown = (Code::NotFound, Code::NotFound);
    assert_eq!(codes, [missing, unknown, unknown]);
    let request = GetSchedulerStatusRequest { job_name: "ghost".into() };
    let refused = soon(house.client.get_scheduler_status(request)).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let nothing = soon(house.client.watch_executions(WatchExecutionsRequest { of: None })).await;
    assert_names(&nothing.unwrap_err(), "of", "job or execution");
    house.close().await;
}

#[tokio::test]
async fn a_job_named_like_an_id_is_still_found() {
    let mut house = House::open().await;
    let name = "01890a5d-ac96-774b-bcce-b302099a8057";
    let created = house.create(hourly(name, "succeed")).await;
    assert_eq!(house.job(name).await.id, created.id);
    house.close().await;
}
