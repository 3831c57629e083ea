//! An entry of the registry: one job's figures, small while it has done nothing.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::job::{Standing, Tally};
use chronos_core::{JobId, Timestamp};

use super::JobStatus;
use crate::handler::JobResult;

/// A job's figures.
#[derive(Debug)]
pub(super) struct Entry {
    /// The job of the store that they are about; a later job may take its name.
    pub(super) job: Option<JobId>,
    pub(super) is_paused: bool,
    pub(super) active_runs: u32,
    pub(super) schedule: Arc<str>,
    pub(super) next_run: Option<Timestamp>,
    /// What became of its slots; most of many jobs have had none yet.
    past: Option<Box<Past>>,
}

/// What became of a job's slots so far.
#[derive(Debug, Default)]
struct Past {
    last_run: Option<Timestamp>,
    last_finished: Option<Timestamp>,
    last_result: Option<JobResult>,
    last_skip: Option<(Timestamp, String)>,
    last_duration_ms: Option<u64>,
    last_wait: Option<Wait>,
    successes: u64,
    errors: u64,
    skips: u64,
}

/// The end of a run, as the registry needs it; the end of a skip begins at its slot.
pub(in crate::service) struct RunEnd {
    pub(in crate::service) result: JobResult,
    pub(in crate::service) started_at: Timestamp,
    pub(in crate::service) finished_at: Timestamp,
    pub(in crate::service) took: Duration,
    /// The next slot, of a job that counts it from the end of this run.
    pub(in crate::service) next_run: Option<Timestamp>,
    pub(in crate::service) wait: Option<Wait>,
}

/// What lay between a slot and the start of its run; a minute is much, so small numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) struct Wait {
    pub(in crate::service) jitter_ms: u32,
    pub(in crate::service) queue_ms: u32,
}

impl Entry {
    pub(super) fn of(job: Option<JobId>, schedule: Arc<str>, standing: &Standing) -> Self {
        let past = Past::of(&standing.tally);
        Self {
            job,
            is_paused: standing.paused.is_some(),
            active_runs: 0,
            schedule,
            next_run: standing.next_slot,
            past: past.map(Box::new),
        }
    }

    /// Slots were fired or skipped: the next one and the skips so far. Not the pause, which may be
    /// newer than the plan.
    pub(super) fn plan(&mut self, standing: &Standing) {
        self.next_run = standing.next_slot;
        let Tally { skipped, last_skip, .. } = &standing.tally;
        if *skipped == 0 && self.past.is_none() {
            return;
        }
        let past = self.past_mut();
        past.skips = *skipped;
        if let Some((at, reason)) = last_skip
            && past.last_skip.as_ref().is_none_or(|last| last.0 < *at)
        {
            past.last_skip = Some((*at, reason.to_string()));
        }
    }

    pub(super) fn end(&mut self, end: RunEnd) {
        self.active_runs = self.active_runs.saturating_sub(1);
        self.next_run = end.next_run.or(self.next_run);
        self.past_mut().end(end);
    }

    pub(super) fn skip(&mut self, at: Timestamp, reason: &str) {
        self.past_mut().skip(at, reason);
    }

    fn past_mut(&mut self) -> &mut Past {
        self.past.get_or_insert_default()
    }

    pub(super) fn status(&self, name: &str) -> JobStatus {
        let utc = |at: Option<Timestamp>| at.map(Timestamp::to_datetime);
        let nothing = Past::default();
        let past = self.past.as_deref().unwrap_or(&nothing);
        let last_skip = past.last_skip.as_ref();
        JobStatus {
            job_name: name.into(),
            cron_expr: self.schedule.to_string(),
            last_run: utc(past.last_run),
            last_finished: utc(past.last_finished),
            last_duration_ms: past.last_duration_ms,
            last_jitter_ms: past.last_wait.map(|wait| wait.jitter_ms.into()),
            last_queue_delay_ms: past.last_wait.map(|wait| wait.queue_ms.into()),
            last_result: past.last_result.clone(),
            next_run: utc(self.next_run),
            run_count: past.successes + past.errors + past.skips,
            success_count: past.successes,
            error_count: past.errors,
            skipped_count: past.skips,
            last_skip: last_skip.map(|(at, reason)| (at.to_datetime(), reason.clone())),
            active_runs: self.active_runs,
            is_running: self.active_runs > 0,
            is_paused: self.is_paused,
        }
    }
}

impl Past {
    /// What a store remembers, if that is anything.
    fn of(tally: &Tally) -> Option<Self> {
        if *tally == Tally::default() {
            return None;
        }
        let last_result = tally.last_run.map(|_| match &tally.last_error {
            None => JobResult::Success,
            Some(error) => JobResult::Failed(error.to_string()),
        });
        let last_finished = tally.last_run.zip(tally.last_duration);
        let last_skip = tally.last_skip.as_ref();
        Some(Self {
            last_run: tally.last_run,
            last_finished: last_finished.map(|(at, took)| at.after(took)),
            last_result,
            last_skip: last_skip.map(|(at, reason)| (*at, reason.to_string())),
            last_duration_ms: tally.last_duration.map(whole_millis),
            last_wait: None,
            successes: tally.succeeded,
            errors: tally.failed,
            skips: tally.skipped,
        })
    }

    fn end(&mut self, end: RunEnd) {
        self.last_wait = end.wait.or(self.last_wait);
        match &end.result {
            JobResult::Skipped(reason) => return self.skip(end.started_at, reason),
            JobResult::Success => self.successes += 1,
            JobResult::Failed(_) => self.errors += 1,
        }
        self.last_run = Some(end.started_at);
        self.last_finished = Some(end.finished_at);
        self.last_duration_ms = Some(whole_millis(end.took));
        self.last_result = Some(end.result);
    }

    fn skip(&mut self, at: Timestamp, reason: &str) {
        self.skips += 1;
        self.last_skip = Some((at, reason.into()));
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
