//! Runs by hand and on time: their records, their figures and their cancellation.

use chronos_server::proto::{
    CancelExecutionRequest, GetExecutionRequest, GetSchedulerStatusRequest, Job, JobSpec,
    JobStatusProto, RunJobRequest,
};
use tonic::Code;

use super::house::House;
use super::{every, hourly, soon};

async fn brief(house: &mut House, job: &str) -> JobStatusProto {
    let request = GetSchedulerStatusRequest { job_name: job.into() };
    let answer = soon(house.client.get_scheduler_status(request)).await.unwrap().into_inner();
    assert!(answer.scheduler_running);
    assert_eq!(answer.jobs.len(), 1);
    answer.jobs.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_run_leaves_a_record_and_counts() {
    let mut house = House::open().await;
    let job = house.create(hourly("report", "succeed")).await;
    let run = house.run("report").await;
    assert_eq!((run.trigger.as_str(), run.attempt, &run.job_id), ("manual", 1, &job.id));
    let ended = house.until(&run.id, "SUCCESS").await;
    assert_eq!((ended.log.as_str(), ended.error.as_str()), ("done\n", ""));
    assert!(ended.started_at.is_some() && ended.finished_at.is_some() && ended.duration.is_some());
    assert!(ended.worker_id.starts_with("in-process-"));
    let Job { manual, succeeded, failed, fired, last_run_at, .. } = house.job("report").await;
    assert_eq!((manual, succeeded, failed, fired), (1, 1, 0, 0));
    assert_eq!(last_run_at, ended.started_at);
    let brief = brief(&mut house, "report").await;
    assert_eq!((brief.run_count, brief.error_count), (1, 0));
    assert_eq!((brief.last_result.as_str(), brief.last_run), ("success", ended.started_at));
    assert_eq!(brief.cron_expr, "every hour");
    assert!(!brief.is_running && !brief.is_paused && brief.next_run.is_some());
    house.close().await;
}

#[tokio::test]
async fn a_failed_run_waits_for_its_retry_and_says_why() {
    let mut house = House::open().await;
    house.create(JobSpec { max_retry: 1, ..hourly("report", "fail") }).await;
    let run = house.run("report").await;
    let failed = house.until(&run.id, "FAILED").await;
    assert_eq!(failed.error, "no luck");
    let job = house.job("report").await;
    assert_eq!((job.status.as_str(), job.waiting, job.running), ("RETRY_PENDING", 1, 0));
    assert_eq!((job.last_error.as_str(), job.failed_in_a_row), ("no luck", 1));
    let brief = brief(&mut house, "report").await;
    assert_eq!((brief.error_count, brief.last_result.as_str()), (1, "failed: no luck"));
    house.close().await;
}

#[tokio::test]
async fn a_run_under_way_shows_and_refuses_another() {
    let mut house = House::open().await;
    house.create(hourly("long", "wait")).await;
    let run = house.run("long").await;
    let running = house.until(&run.id, "RUNNING").await;
    assert!(running.started_at.is_some() && running.last_heartbeat_at.is_some());
    assert!(running.finished_at.is_none() && running.duration.is_none());
    let job = house.job("long").await;
    assert_eq!((job.status.as_str(), job.running), ("RUNNING", 1));
    assert!(brief(&mut house, "long").await.is_running);
    let request = RunJobRequest { job: "long".into() };
    let refused = soon(house.client.run_job(request)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("already running"), "{refused}");
    house.leave.add_permits(1);
    house.until(&run.id, "SUCCESS").await;
    assert_eq!(house.job("long").await.running, 0);
    house.close().await;
}

#[tokio::test]
async fn a_cancelled_run_is_asked_to_stop_and_says_by_whom() {
    let mut house = House::open().await;
    house.create(hourly("long", "wait")).await;
    let run = house.run("long").await;
    house.until(&run.id, "RUNNING").await;
    let request = CancelExecutionRequest { id: run.id.clone() };
    let asked = soon(house.client.cancel_execution(request.clone())).await.unwrap().into_inner();
    assert_eq!(asked.reason, "by a user");
    let stopped = house.until(&run.id, "CANCELLED").await;
    assert_eq!(stopped.reason, "by a user");
    // What is over stays as it is.
    let again = soon(house.client.cancel_execution(request)).await.unwrap().into_inner();
    assert_eq!(again, stopped);
    house.close().await;
}

#[tokio::test]
async fn unknown_executions_are_not_found_and_bad_ids_refused() {
    let mut house = House::open().await;
    for (id, code) in [
        ("01890a5d-ac96-774b-bcce-b302099a8057", Code::NotFound),
        ("seven", Code::InvalidArgument),
        ("", Code::InvalidArgument),
    ] {
        let got = soon(house.client.get_execution(GetExecutionRequest { id: id.into() })).await;
        assert_eq!(got.unwrap_err().code(), code, "{id}");
        let request = CancelExecutionRequest { id: id.into() };
        let refused = soon(house.client.cancel_execution(request)).await.unwrap_err();
        assert_eq!(refused.code(), code, "{id}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_job_that_a_client_made_runs_on_time() {
    let mut house = House::open().await;
    house.create(JobSpec { schedule: Some(every(1)), ..hourly("ticking", "succeed") }).await;
    let fired = soon(async {
        loop {
            let job = house.job("ticking").await;
            if job.fired >= 2 && job.succeeded >= 1 {
                return job;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    assert_eq!(fired.await.manual, 0);
    house.close().await;
}
