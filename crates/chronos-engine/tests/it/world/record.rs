//! Records: what the jobs of a world were asked to be, and when.

use std::sync::Arc;

use chronos_core::{Job, JobId, JobSpec, Timestamp};

use super::oracle::Oracle;

/// A job of the world with everything it was ever asked to be.
pub(super) struct JobRecord {
    pub(super) id: JobId,
    pub(super) versions: Vec<Version>,
    /// The last slot accounted for when it was deleted, or the beginning of time.
    pub(super) deleted: Option<Timestamp>,
}

/// A job between two edits: its slots are those after one instant and not after another.
pub(super) struct Version {
    pub(super) oracle: Oracle,
    pub(super) spec: Arc<JobSpec>,
    pub(super) after: Timestamp,
    pub(super) until: Option<Timestamp>,
    /// Its first slot, as the store said.
    pub(super) first: Option<Timestamp>,
}

impl JobRecord {
    /// Goes on as another version.
    pub(super) fn replace(&mut self, oracle: Oracle, job: &Job, bound: Timestamp) {
        let mut next = Version::begin(oracle, job, bound);
        let open = self.versions.iter_mut();
        for before in open.filter(|version| version.until.is_none()) {
            if before.spec.schedule == job.spec.schedule {
                next.after = before.after;
                next.first = before.first;
            } else {
                // A job that has run as often as it may has no slots any more.
                let is_bounded = before.spec.schedule.max_runs().is_some();
                let last = job.standing.last_slot.unwrap_or(Timestamp::MIN);
                before.until = Some(if is_bounded { last } else { bound });
            }
        }
        self.versions.push(next);
    }
}

impl Version {
    /// A version that begins where the job stands; `bound` is the last instant before it.
    pub(super) fn begin(oracle: Oracle, job: &Job, bound: Timestamp) -> Self {
        let after = match oracle {
            // A one-time instant just past is late, not absent.
            Oracle::Once(_) => job.standing.last_slot.unwrap_or(Timestamp::MIN),
            Oracle::Every { .. } | Oracle::FromEnd(_) => bound,
        };
        Self { oracle, spec: job.spec.clone(), after, until: None, first: job.standing.next_slot }
    }
}
