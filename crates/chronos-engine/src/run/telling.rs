//! Telling: what notices are to the engine, which runs them like anything else and shows them apart.

use std::sync::Arc;

use chronos_core::execution::Failure;
use chronos_core::job::Target;
use chronos_core::notice::Notice;
use chronos_core::store::Claim;
use chronos_core::{Execution, JobSpec};

use super::Shared;

impl Shared {
    /// Where a notice about this job goes, and what it says there.
    pub(crate) fn webhook(
        &self,
        spec: &JobSpec,
        execution: &Execution,
        notice: &Notice,
    ) -> Result<Target, Failure> {
        let own = spec.notify.as_ref().and_then(|notify| notify.webhook.as_ref());
        // Another node may have one.
        let nobody = || Failure::transient("no webhook for notices is configured on this node");
        let webhook = own.or(self.config.webhook.as_deref()).ok_or_else(nobody)?;
        #[cfg(feature = "http")]
        let body = crate::http::notice_body(spec, execution, notice);
        #[cfg(not(feature = "http"))]
        let body = {
            let _ = (execution, notice);
            String::new()
        };
        let unsendable = |error: chronos_core::Error| Failure::permanent(&error.to_string());
        webhook.clone().with_body(body).map(Target::from).map_err(unsendable)
    }

    pub(super) fn tell_started(&self, claims: &[Claim]) {
        if claims.iter().all(|claim| claim.execution.notice().is_none()) {
            self.observer.started(claims);
            return;
        }
        let runs = claims.iter().filter(|claim| claim.execution.notice().is_none());
        self.observer.started(&runs.cloned().collect::<Vec<_>>());
    }

    pub(super) fn tell_ended(&self, mut ended: Vec<(Arc<JobSpec>, Execution)>) {
        let is_notice = |(_, execution): &mut (_, Execution)| execution.notice().is_some();
        let notices: Vec<_> = ended.extract_if(.., is_notice).collect();
        self.observer.ended(&ended);
        if !notices.is_empty() {
            self.observer.told(&notices);
        }
    }

    pub(super) fn tell_lost(&self, spec: &JobSpec, is_notice: bool) {
        if !is_notice {
            self.observer.lost(spec);
        }
    }

    pub(super) fn tell_reaped(&self, mut ended: Vec<Execution>) {
        ended.retain(|execution| execution.notice().is_none());
        self.observer.reaped(&ended);
    }
}
