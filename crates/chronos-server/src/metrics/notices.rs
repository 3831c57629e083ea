//! Figures about notices: how many were sent, and how often sending one failed.

use std::sync::Arc;

use chronos_core::execution::State;
use chronos_core::notice::Kind;
use chronos_core::{Execution, JobSpec};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// What a notice told, and whether it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Told {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Debug)]
pub(super) struct Notices(Family<Told, Counter>);

impl Notices {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let told: Family<Told, Counter> = Family::default();
        // A series that is absent until the first failure cannot be alerted on.
        for kind in Kind::ALL {
            for outcome in ["sent", "failed"] {
                drop(told.get_or_create(&Told { kind: kind.as_str(), outcome }));
            }
        }
        let help = "Attempts to tell someone about a run, by what is told and whether it was sent";
        registry.register("notices", help, told.clone());
        Self(told)
    }

    pub(super) fn told(&self, ended: &[(Arc<JobSpec>, Execution)]) {
        for (_, execution) in ended {
            if let Some(notice) = execution.notice() {
                let sent = matches!(execution.state, State::Success(_));
                let (kind, outcome) = (notice.kind.as_str(), if sent { "sent" } else { "failed" });
                self.0.get_or_create(&Told { kind, outcome }).inc();
            }
        }
    }
}
