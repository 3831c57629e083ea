//! Sealing anew: while a key takes the place of another, every secret comes to be sealed with the new one.
//!
//! Each job is changed in a step of its own, and whatever a step has not reached yet opens with the old
//! key: a daemon that ends in between goes on at its next start.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::http::{Http, Sealed};
use chronos_core::job::Target;
use chronos_core::plan::Change;
use chronos_core::store::{self, Store};
use chronos_core::subscription::{self, Subscriptions};
use chronos_core::{Job, JobId, JobSpec, Subscription};
use chronos_engine::Clock;
use chronos_engine::http::{KeyError, Purpose};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Keys;

/// Jobs that are looked at in one go.
const PAGE: usize = 200;
/// How long after a failure, or a change by somebody else, it is tried again.
const PAUSE: Duration = Duration::from_secs(2);

/// Seals every secret of jobs and subscriptions with the key that seals now.
pub(crate) struct Resealer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) subscriptions: Arc<dyn Subscriptions>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keys: Arc<Keys>,
}

/// What one look at all jobs and subscriptions came to.
#[derive(Debug, Default)]
struct Pass {
    /// Those whose secrets were sealed anew.
    resealed: usize,
    /// Those with a secret that no key here opens.
    unopened: usize,
    /// Those that somebody else changed meanwhile.
    again: usize,
}

impl Resealer {
    /// Works until every secret that can be opened is sealed with the key that seals now.
    pub(crate) async fn run(self, closing: CancellationToken) {
        let mut resealed = 0;
        loop {
            match self.pass().await {
                Ok(pass) => {
                    resealed += pass.resealed;
                    if pass.again == 0 {
                        self.tell(resealed, pass.unopened);
                        return;
                    }
                }
                Err(error) => warn!(%error, "Secrets not sealed anew yet"),
            }
            tokio::select! {
                () = closing.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    fn tell(&self, resealed: usize, unopened: usize) {
        let key = self.keys.id();
        if unopened > 0 {
            warn!(key, resealed, unopened, "Some secrets open with no key that is here");
        } else {
            info!(key, resealed, "Every secret is sealed with this key; the old ones can go");
        }
    }

    async fn pass(&self) -> store::Result<Pass> {
        let (mut pass, mut after) = (Pass::default(), None);
        loop {
            let jobs = self.store.jobs(after, PAGE).await?;
            let Some(last) = jobs.last() else {
                self.pass_subscriptions(&mut pass).await?;
                return Ok(pass);
            };
            after = Some(last.spec.id);
            for job in &jobs {
                self.reseal(job, &mut pass).await?;
            }
        }
    }

    async fn pass_subscriptions(&self, pass: &mut Pass) -> store::Result<()> {
        let mut after = None;
        loop {
            let found = self.subscriptions.subscriptions(None, after, PAGE).await;
            let found = found.map_err(reason)?;
            let Some(last) = found.last() else {
                return Ok(());
            };
            after = Some(last.id);
            for subscription in found {
                self.reseal_subscription(subscription, pass).await?;
            }
        }
    }

    async fn reseal_subscription(&self, it: Subscription, pass: &mut Pass) -> store::Result<()> {
        let (id, version) = (it.id, it.version);
        let holder = JobId::from_bytes(*id.as_bytes());
        let endpoint = it.endpoint.clone().resealed(|name, sealed: &Sealed| {
            self.keys.reseal(holder, name.map_or(Purpose::PushSigning, Purpose::PushHeader), sealed)
        });
        let endpoint = match endpoint {
            Ok((_, false)) => return Ok(()),
            Ok((endpoint, true)) => endpoint,
            Err(error) => {
                warn!(subscription = %id, %error, "Secret not opened");
                pass.unopened += 1;
                return Ok(());
            }
        };
        let edit = Subscription { endpoint, ..it };
        let now = self.clock.now();
        match self.subscriptions.edit_subscription(edit, Some(version), now).await {
            Ok(_) => pass.resealed += 1,
            Err(subscription::Error::Conflict { .. }) => pass.again += 1,
            Err(subscription::Error::NoSuchSubscription(_)) => {}
            Err(error) => return Err(reason(error)),
        }
        Ok(())
    }

    async fn reseal(&self, job: &Job, pass: &mut Pass) -> store::Result<()> {
        let spec = match resealed(&self.keys, &job.spec) {
            Ok(None) => return Ok(()),
            Ok(Some(spec)) => spec,
            Err(error) => {
                warn!(job = %job.spec.id, %error, "Secret not opened");
                pass.unopened += 1;
                return Ok(());
            }
        };
        let (id, version) = (spec.id, spec.version);
        let edit = Change::Edit(Box::new(spec));
        match self.store.amend_job(id, edit, Some(version), self.clock.now()).await {
            Ok(_) => pass.resealed += 1,
            Err(store::Error::VersionConflict { .. }) => pass.again += 1,
            Err(store::Error::NoSuchJob(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// What the store says; it has nothing else to refuse here.
fn reason(error: subscription::Error) -> store::Error {
    match error {
        subscription::Error::Store(error) => error,
        other => store::Error::Unavailable(other.to_string()),
    }
}

/// The job with its secrets sealed anew; nothing if they are as they should be.
fn resealed(keys: &Keys, spec: &JobSpec) -> Result<Option<JobSpec>, KeyError> {
    let (mut spec, mut any) = (spec.clone(), false);
    let id = spec.id;
    if let Target::Http(http) = &spec.target {
        let (http, renewed) = http.as_ref().clone().resealed(|name, sealed: &Sealed| {
            keys.reseal(id, name.map_or(Purpose::Signing, Purpose::Header), sealed)
        })?;
        spec.target = http.into();
        any |= renewed;
    }
    let webhook = spec.notify.as_mut().and_then(|notify| notify.webhook.as_mut());
    if let Some(webhook) = webhook {
        let (http, renewed): (Http, bool) = webhook.clone().resealed(|name, sealed: &Sealed| {
            keys.reseal(id, name.map_or(Purpose::NoticeSigning, Purpose::NoticeHeader), sealed)
        })?;
        *webhook = http;
        any |= renewed;
    }
    Ok(any.then_some(spec))
}
