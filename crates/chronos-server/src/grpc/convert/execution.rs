//! Executions: one attempt at one slot, or the record that it was skipped.

use chronos_core::{BackfillId, Execution};

use super::time::{duration, timestamp};
use crate::proto;

impl From<&Execution> for proto::Execution {
    fn from(execution: &Execution) -> Self {
        let (run, running) = (execution.run(), execution.running());
        let response = run.and_then(|run| run.response.as_deref());
        let (notice, backfill) = (execution.notice(), execution.trigger.backfill());
        let started = running.map(|running| running.started_at);
        let worker = running.map(|running| &running.lease.worker);
        Self {
            id: execution.id.to_string(),
            job_id: execution.job.to_string(),
            scheduled_for: Some(timestamp(execution.slot)),
            run_at: Some(timestamp(execution.run_at)),
            status: execution.status().into(),
            reason: execution.reason().unwrap_or_default().into(),
            trigger: execution.trigger.as_str().into(),
            notice: notice.map(|notice| notice.kind.as_str().into()).unwrap_or_default(),
            about: notice.map(|notice| notice.about.execution.to_string()).unwrap_or_default(),
            attempt: execution.attempt,
            retry_number: execution.retry,
            worker_id: worker
                .or(run.map(|run| &run.worker))
                .map(ToString::to_string)
                .unwrap_or_default(),
            started_at: started.or(run.map(|run| run.started_at)).map(timestamp),
            finished_at: execution.finished_at().map(timestamp),
            last_heartbeat_at: running.map(|running| timestamp(running.heartbeat_at)),
            duration: run.map(|run| duration(run.duration())),
            response_code: response.map_or(0, |response| response.status.into()),
            response_time: response.map(|response| duration(response.took)),
            error: execution.error().unwrap_or_default().into(),
            log: run.and_then(|run| run.log.as_deref()).unwrap_or_default().into(),
            response_body: response.map(|response| response.body.to_vec()).unwrap_or_default(),
            response_truncated: response.is_some_and(|response| response.truncated),
            trace_id: execution.trace_id().to_string(),
            note: execution.note().unwrap_or_default().into(),
            backfill_id: backfill.map(|number| backfill_id(execution, number)).unwrap_or_default(),
        }
    }
}

fn backfill_id(execution: &Execution, number: u64) -> String {
    BackfillId::of(execution.job, number).to_string()
}
