//! Changes: hints that a job's executions are no longer what they were.

use std::sync::Arc;

use chronos_core::store::{Claim, Planned};
use chronos_core::{Execution, JobId, JobSpec};
use chronos_engine::run::Observer;
use tokio::sync::broadcast;

/// Hints that wait for a reader; one that falls further behind reads everything again.
const KEPT: usize = 1_024;

/// Tells whoever watches that a job's executions may have changed. Telling never waits.
#[derive(Clone, Debug)]
pub(crate) struct Changes(broadcast::Sender<JobId>);

impl Changes {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }

    pub(crate) fn tell(&self, job: JobId) {
        // Nobody may be listening, which is no failure.
        let _ = self.0.send(job);
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<JobId> {
        self.0.subscribe()
    }
}

impl Observer for Changes {
    fn planned(&self, planned: &[Planned]) {
        for planned in planned {
            self.tell(planned.spec.id);
        }
    }

    fn started(&self, claims: &[Claim]) {
        for claim in claims {
            self.tell(claim.spec.id);
        }
    }

    fn ended(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        for (spec, _) in ended {
            self.tell(spec.id);
        }
    }

    fn told(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        self.ended(ended);
    }

    fn lost(&self, spec: &JobSpec) {
        self.tell(spec.id);
    }
}
