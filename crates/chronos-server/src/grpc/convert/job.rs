//! Jobs: what was asked for, where it stands, and what of it is alive.

use std::collections::HashMap;

use chronos_core::job::{Status, Tally};
use chronos_core::{Execution, Job, JobId};

use super::time::{duration, timestamp};
use crate::proto;
use crate::proto::target::Kind;
use crate::secrets::without_query;

/// The beginning of an error, where many jobs are told at once.
const SHORT_ERROR: usize = 200;

/// What of a job is alive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    running: u32,
    waiting: u32,
    retrying: bool,
}

impl Activity {
    /// The activity of each job that has any.
    pub(crate) fn by_job(live: &[Execution]) -> HashMap<JobId, Self> {
        let mut jobs: HashMap<JobId, Self> = HashMap::new();
        for execution in live.iter().filter(|live| live.notice().is_none()) {
            let activity = jobs.entry(execution.job).or_default();
            if execution.running().is_some() {
                activity.running += 1;
            } else {
                activity.waiting += 1;
                activity.retrying |= execution.is_waiting_retry();
            }
        }
        jobs
    }
}

/// The job as it is told alone or in a page.
pub(crate) fn job(job: &Job, activity: Activity) -> proto::Job {
    let Job { spec, standing } = job;
    let tally = &standing.tally;
    proto::Job {
        id: spec.id.to_string(),
        spec: Some(spec.as_ref().into()),
        version: spec.version,
        created_at: Some(timestamp(spec.created_at)),
        status: status(job, activity).as_str().into(),
        enabled: standing.enabled,
        paused: standing.paused.as_ref().map(|pause| proto::Pause {
            since: Some(timestamp(pause.since)),
            note: pause.note.as_deref().unwrap_or_default().into(),
            resume_at: pause.resume_at.map(timestamp),
        }),
        description: spec.schedule.describe(),
        next_execution_time: standing.next_slot.map(timestamp),
        last_run_at: tally.last_run.map(timestamp),
        last_duration: tally.last_duration.map(duration),
        last_error: tally.last_error.as_deref().unwrap_or_default().into(),
        fired: tally.fired,
        manual: tally.manual,
        succeeded: tally.succeeded,
        failed: tally.failed,
        skipped: tally.skipped,
        failed_in_a_row: tally.failed_in_a_row,
        running: activity.running,
        waiting: activity.waiting,
        dropped_secrets: Vec::new(),
    }
}

/// The job without what the queries of its URLs hold.
pub(crate) fn without_queries(mut job: proto::Job) -> proto::Job {
    let Some(spec) = &mut job.spec else {
        return job;
    };
    let target = spec.target.as_mut().and_then(|target| target.kind.as_mut());
    if let Some(Kind::Http(http)) = target {
        http.url = without_query(&http.url);
    }
    if let Some(notify) = &mut spec.notify {
        notify.url = without_query(&notify.url);
    }
    job
}

/// The job as it is told among all others.
pub(crate) fn brief(job: &Job, activity: Activity) -> proto::JobStatusProto {
    let Job { spec, standing } = job;
    let tally = &standing.tally;
    let last_duration = tally.last_duration.map(|took| took.as_millis());
    proto::JobStatusProto {
        job_name: spec.name.to_string(),
        cron_expr: spec.schedule.expression(),
        last_run: tally.last_run.map(timestamp),
        last_duration_ms: last_duration.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0),
        last_result: last_result(tally),
        next_run: standing.next_slot.map(timestamp),
        run_count: tally.succeeded + tally.failed + tally.skipped,
        error_count: tally.failed,
        is_running: activity.running > 0,
        is_paused: standing.paused.is_some(),
    }
}

fn last_result(tally: &Tally) -> String {
    match (&tally.last_run, &tally.last_error) {
        (None, _) => String::new(),
        (Some(_), None) => "success".into(),
        (Some(_), Some(error)) => {
            let end = error.floor_char_boundary(SHORT_ERROR);
            format!("failed: {}", &error[..end])
        }
    }
}

/// The job's status, with this alive of it.
fn status(job: &Job, activity: Activity) -> Status {
    if activity.running > 0 {
        Status::Running
    } else if activity.retrying {
        Status::RetryPending
    } else if activity.waiting > 0 {
        Status::Pending
    } else {
        Status::at_rest(job.spec.schedule.is_one_shot(), &job.standing)
    }
}
