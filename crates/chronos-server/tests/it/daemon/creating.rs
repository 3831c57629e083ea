//! Creating, changing and removing jobs.

use chronos_server::proto::schedule::Cadence;
use chronos_server::proto::target::Kind;
use chronos_server::proto::{
    CreateJobRequest, Cron, DeleteJobRequest, GetJobRequest, Http, JobSpec, NoticeKinds, Notify,
    PauseJobRequest, ResumeJobRequest, Schedule, Target, UpdateJobRequest, catch_up_policy,
    overlap_policy,
};
use prost_types::{Duration, Timestamp};
use tonic::Code;

use super::house::{House, client};
use super::{every, hourly, soon};

/// A spec in which every field says something.
fn full() -> JobSpec {
    let cron = Cron { expression: "0 9 * * 1-5".into(), timezone: "Europe/Berlin".into() };
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    let queue = overlap_policy::Kind::Queue(overlap_policy::Queue { max_queued: 3 });
    let capped = catch_up_policy::RunAllCapped { catch_up_max: 7 };
    let capped = catch_up_policy::Kind::RunAllCapped(capped);
    JobSpec {
        name: "report".into(),
        schedule: Some(Schedule {
            cadence: Some(Cadence::Cron(cron)),
            start_at: Some(Timestamp { seconds: 4_000_000_000, nanos: 0 }),
            end_at: Some(Timestamp { seconds: 5_000_000_000, nanos: 500_000 }),
            max_runs: 12,
        }),
        target: Some(Target {
            kind: Some(Kind::Http(Http {
                method: "PUT".into(),
                url: "https://example.com/reports?kind=daily".into(),
                headers: [("authorization".into(), "Bearer 4711".into())].into(),
                body: b"{}".to_vec(),
                timeout: seconds(10),
                expected_statuses: vec![200, 202],
                connect_timeout: seconds(3),
                first_byte_timeout: seconds(5),
                ..Http::default()
            })),
        }),
        overlap_policy: Some(chronos_server::proto::OverlapPolicy { kind: Some(queue) }),
        catch_up_policy: Some(chronos_server::proto::CatchUpPolicy { kind: Some(capped) }),
        misfire_grace: seconds(60),
        catch_up_window: seconds(86_400),
        jitter_seconds: 30,
        quiet_hours_policy_id: String::new(),
        max_retry: 4,
        retry_base: seconds(2),
        retry_max: seconds(600),
        max_execution_time: seconds(90),
        tags: vec!["daily".into(), "reports".into()],
        priority: Some(7),
        notify: Some(Notify {
            url: "https://example.com/alerts".into(),
            headers: [("x-team".into(), "billing".into())].into(),
            on: Some(NoticeKinds { kinds: vec!["failure".into(), "overdue".into()] }),
            overdue_after: seconds(90),
            ..Notify::default()
        }),
    }
}

#[tokio::test]
async fn a_job_is_found_by_id_and_by_name_as_it_was_asked_for() {
    let mut house = House::open().await;
    let created = house.create(full()).await;
    assert_eq!(created.spec.as_ref(), Some(&full()));
    assert_eq!((created.version, created.status.as_str()), (1, "PENDING"));
    let words = "at 09:00, Monday to Friday, Europe/Berlin";
    assert!(created.description.starts_with(words), "{}", created.description);
    assert!(created.enabled && created.next_execution_time.is_some());
    assert_eq!(house.job("report").await, created);
    assert_eq!(house.job(&created.id).await, created);
    house.close().await;
}

#[tokio::test]
async fn what_is_left_out_has_its_documented_value() {
    let mut house = House::open().await;
    let spec = house.create(hourly("plain", "succeed")).await.spec.unwrap();
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    assert_eq!(spec.misfire_grace, seconds(10));
    assert_eq!((spec.retry_base, spec.retry_max), (seconds(5), seconds(3_600)));
    assert_eq!((spec.max_execution_time, spec.max_retry, spec.jitter_seconds), (None, 0, 0));
    let skip = overlap_policy::Kind::Skip(overlap_policy::Skip {});
    assert_eq!(spec.overlap_policy.unwrap().kind, Some(skip));
    let skip = catch_up_policy::Kind::Skip(catch_up_policy::Skip {});
    assert_eq!(spec.catch_up_policy.unwrap().kind, Some(skip));
    let at = Timestamp { seconds: 4_000_000_000, nanos: 0 };
    let once = Schedule { cadence: Some(Cadence::OneShot(at)), ..Schedule::default() };
    let once = JobSpec { schedule: Some(once), ..hourly("once", "succeed") };
    let spec = house.create(once).await.spec.unwrap();
    let run_once = catch_up_policy::Kind::RunOnce(catch_up_policy::RunOnce {});
    assert_eq!(spec.catch_up_policy.unwrap().kind, Some(run_once));
    house.close().await;
}

#[tokio::test]
async fn of_two_clients_that_create_one_name_at_once_one_wins() {
    let house = House::open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let mut client = client(house.address()).await;
        tasks.spawn(async move {
            let spec = Some(hourly("contested", "succeed"));
            client.create_job(CreateJobRequest { spec }).await
        });
    }
    let answers = soon(tasks.join_all()).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 15));
    for refused in lost.into_iter().map(Result::unwrap_err) {
        assert_eq!(refused.code(), Code::AlreadyExists);
        assert_eq!(refused.message(), "a job named \"contested\" already exists");
    }
    house.close().await;
}

#[tokio::test]
async fn an_update_counts_versions_and_refuses_an_older_one() {
    let mut house = House::open().await;
    let created = house.create(hourly("report", "succeed")).await;
    let update = |spec, expected_version| UpdateJobRequest {
        job: "report".into(),
        spec: Some(spec),
        expected_version,
    };
    let spec = JobSpec { max_retry: 9, ..hourly("report", "succeed") };
    let updated = soon(house.client.update_job(update(spec.clone(), 1))).await.unwrap();
    let updated = updated.into_inner();
    assert_eq!((updated.version, updated.spec.unwrap().max_retry), (2, 9));
    // The same interval keeps its phase.
    assert_eq!(updated.next_execution_time, created.next_execution_time);
    let refused = soon(house.client.update_job(update(spec.clone(), 1))).await.unwrap_err();
    assert_eq!(refused.code(), Code::Aborted);
    assert_eq!(refused.message(), "job \"report\" is at version 2, not 1; read it again");
    let spec = JobSpec { name: "renamed".into(), schedule: Some(every(60)), ..spec };
    let updated = soon(house.client.update_job(update(spec, 0))).await.unwrap().into_inner();
    assert_eq!((updated.version, updated.id.as_str()), (3, created.id.as_str()));
    assert_ne!(updated.next_execution_time, created.next_execution_time);
    assert_eq!(house.job("renamed").await.id, created.id);
    house.close().await;
}

#[tokio::test]
async fn a_pause_is_told_with_its_note_until_it_ends() {
    let mut house = House::open().await;
    house.create(hourly("report", "succeed")).await;
    let pause = |note: &str| PauseJobRequest {
        job: "report".into(),
        note: note.into(),
        ..PauseJobRequest::default()
    };
    let paused = soon(house.client.pause_job(pause("holidays"))).await.unwrap().into_inner();
    assert_eq!(paused.paused.as_ref().unwrap().note, "holidays");
    let again = soon(house.client.pause_job(pause(""))).await.unwrap().into_inner();
    assert_eq!(again.paused, paused.paused, "what says nothing changes nothing");
    let resume_at = Some(prost_types::Timestamp { seconds: 4_102_444_800, nanos: 0 });
    let anew = PauseJobRequest { resume_at, ..pause("longer holidays") };
    let anew = soon(house.client.pause_job(anew)).await.unwrap().into_inner().paused.unwrap();
    assert_eq!((anew.note.as_str(), anew.resume_at), ("longer holidays", resume_at));
    assert_eq!(anew.since, paused.paused.unwrap().since);
    for (seconds, nanos) in [(0, 0), (i64::MAX, 0), (4_102_444_800, -1)] {
        let resume_at = Some(prost_types::Timestamp { seconds, nanos });
        let refused =
            soon(house.client.pause_job(PauseJobRequest { resume_at, ..pause("") })).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().starts_with("resume_at: "), "{refused}");
    }
    assert!(house.job("report").await.next_execution_time.is_some());
    for _ in 0..2 {
        let request = ResumeJobRequest { job: "report".into() };
        let resumed = soon(house.client.resume_job(request)).await.unwrap().into_inner();
        assert_eq!(resumed.paused, None);
    }
    let refused = soon(house.client.pause_job(pause(&"n".repeat(1_001)))).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().starts_with("note: 1001 characters"), "{refused}");
    house.close().await;
}

#[tokio::test]
async fn a_pause_by_a_client_reaches_the_registry_of_the_program() {
    let mut house = House::open().await;
    let request = PauseJobRequest { job: "succeed".into(), ..PauseJobRequest::default() };
    soon(house.client.pause_job(request)).await.unwrap();
    assert!(house.daemon.scheduler().registry().is_paused("succeed"));
    house.close().await;
}

#[tokio::test]
async fn a_deleted_job_is_gone_and_its_run_is_asked_to_stop() {
    let mut house = House::open().await;
    let job = house.create(hourly("doomed", "wait")).await;
    let run = house.run("doomed").await;
    house.until(&run.id, "RUNNING").await;
    let request = DeleteJobRequest { job: job.id.clone() };
    soon(house.client.delete_job(request.clone())).await.unwrap();
    for gone in ["doomed", &job.id] {
        let request = GetJobRequest { job: gone.into() };
        let refused = soon(house.client.get_job(request)).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
        assert_eq!(refused.message(), format!("no job with the name or id \"{gone}\""));
    }
    let refused = soon(house.client.delete_job(request)).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    // The run ends although nobody lets it leave: shutting down does not wait for it.
    house.close().await;
}
