//! Pushes: requests that no run of a job makes, on the same way out as all others.

use chronos_core::execution::Failure;
use chronos_core::{Http, JobId};

use super::request::{self, Part};
use super::trail::Trail;
use super::{CONNECT_TIMEOUT, Caller, Inner, answer, answered, host_of};

/// A request that no run of a job makes.
pub(crate) struct Push<'a> {
    /// Where it goes, and its body.
    pub(crate) http: &'a Http,
    /// What the body is.
    pub(crate) kind: &'static str,
    /// Whose secrets it carries.
    pub(crate) part: Part,
    /// What they are sealed for.
    pub(crate) holder: JobId,
    /// What people call that.
    pub(crate) name: &'a str,
    /// Whose room it takes up.
    pub(crate) owner: &'a str,
    /// The same for every attempt at it.
    pub(crate) id: String,
    /// What else its headers say.
    pub(crate) about: Vec<(&'static str, String)>,
}

/// Why a push was not taken.
#[derive(Clone, Debug)]
pub(crate) struct Unsent {
    /// What went wrong.
    pub(crate) failure: Failure,
    /// What was answered, if anything was.
    pub(crate) status: Option<u16>,
}

impl From<Failure> for Unsent {
    fn from(failure: Failure) -> Self {
        Self { failure, status: None }
    }
}

impl Caller {
    /// Sends a push; it is taken by an answer that its target expects. Guarded, bounded and timed as the
    /// request of a job is.
    pub(crate) async fn push(&self, push: &Push<'_>) -> Result<(), Unsent> {
        let inner = &self.0;
        let refused =
            |refused: chronos_core::http::OutOfReach| Failure::permanent(&refused.to_string());
        let trail = Trail::to(push.http.url(), &inner.reach).map_err(refused)?;
        let client = inner.client(push.http.connect_timeout().unwrap_or(CONNECT_TIMEOUT))?;
        let owner = push.owner;
        let _turn = if owner.is_empty() { None } else { inner.owners.enter(owner).await };
        let _room = inner.hosts.enter(&host_of(push.http.url())).await;
        Box::pin(inner.send(push, &client, trail)).await
    }
}

impl Inner {
    async fn send(
        &self,
        push: &Push<'_>,
        client: &reqwest::Client,
        trail: std::sync::Arc<Trail>,
    ) -> Result<(), Unsent> {
        let keyring = self.keyring.get().map(|keyring| &**keyring);
        let request = request::build_push(push, keyring, self.clock.now())?;
        let response = trail.follow(answered(push.http, client.execute(request))).await?;
        let status = response.status();
        let unexpected = (!push.http.expects(status.as_u16()))
            .then(|| answer::unexpected(status, response.headers(), self.clock.now()));
        // What is answered is nobody's to see, but a connection whose answer was read serves again.
        let error = answer::read(response).await.error;
        let broken = || error.map(|error| answer::broken(&error, push.http));
        match unexpected.or_else(broken) {
            None => Ok(()),
            Some(failure) => Err(Unsent { failure, status: Some(status.as_u16()) }),
        }
    }
}
