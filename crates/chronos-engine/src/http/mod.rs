//! Calling HTTP endpoints: the handler of every job with an http target.

mod answer;
mod keyring;
mod notice;
mod push;
mod request;
mod resolver;
mod rooms;
mod signature;
mod trail;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chronos_core::Http;
use chronos_core::execution::{Failure, Response};
use chronos_core::http::{OutOfReach, Reach};
use chronos_core::job::Target;
use chronos_core::plan::Ending;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::{Client, ClientBuilder, redirect};
use rustc_hash::FxHashMap;
use tracing::warn;

use crate::clock::Clock;
use crate::handler::{Handler, JobContext};
use answer::Body;
pub use keyring::{KeyError, Keyring, Purpose};
pub(crate) use notice::body as notice_body;
pub(crate) use push::{Push, Unsent};
pub(crate) use request::Part;
use resolver::Resolver;
pub use rooms::Limits;
use rooms::{Rooms, host_of};
use trail::Trail;

/// A host that takes no connection for this long is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Clients with a patience of their own that are kept.
const MAX_CLIENTS: usize = 16;

/// How long a connection is kept for later.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Calls HTTP endpoints over one pool of connections; the handler of every http target.
///
/// Beside the headers that a job asks for, an endpoint is told which run it serves:
///
/// | header | what it holds |
/// |---|---|
/// | `Idempotency-Key` | the same for every attempt at a slot, another for every other slot |
/// | `Chronos-Execution-Id` | identifies the attempt |
/// | `Chronos-Attempt` | which attempt at the slot it is, from 1 |
/// | `Chronos-Fence` | grows with every claim; refuse a smaller one than you have seen |
/// | `Chronos-Job` | the job's id |
/// | `Chronos-Scheduled-For` | the slot |
/// | `traceparent` | the trace of whoever asked for the run, else one of the slot, with a span of the attempt |
///
/// A target with a signing secret is also sent `webhook-id` (the idempotency key), `webhook-timestamp`
/// and `webhook-signature`, as Standard Webhooks 1.0.0 has them.
///
/// Requests go to no address out of [`Reach`], whatever a name is said to mean. Redirects are not
/// followed, proxies in the environment are not used, and nothing is decompressed.
/// Network errors, timeouts and the statuses 408, 425, 429 and 5xx may pass and are retried, no
/// sooner than `Retry-After` says; any other status that the target does not expect is final. When
/// the run's token is cancelled, the connection is dropped at once.
///
/// The log of each run tells where its request went, or would have gone if that were within reach: the
/// address, the digest of the URL, and whose job it is.
#[derive(Clone, Debug)]
pub struct Caller(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Arc<dyn Clock>,
    reach: Arc<Reach>,
    hosts: Rooms,
    owners: Rooms,
    keyring: OnceLock<Arc<dyn Keyring>>,
    /// By how long they wait for a connection, each made for the first request that needs it: they
    /// read the certificates of the system.
    clients: Mutex<FxHashMap<Duration, Result<Client, Failure>>>,
}

impl Caller {
    /// A caller that tells the time by this clock and connects to nothing out of reach. Connections
    /// are made when they are needed.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, reach: Reach) -> Self {
        Self::with_limits(clock, reach, Limits::default())
    }

    /// The same with other limits on the requests at once.
    #[must_use]
    pub fn with_limits(clock: Arc<dyn Clock>, reach: Reach, limits: Limits) -> Self {
        let (hosts, owners) = (Rooms::new(limits.per_host), Rooms::new(limits.per_owner));
        let reach = Arc::new(reach);
        let (keyring, clients) = (OnceLock::new(), Mutex::default());
        Self(Arc::new(Inner { clock, reach, hosts, owners, keyring, clients }))
    }

    /// The same caller, which opens secrets with this keyring; the first one that it is given counts.
    #[must_use]
    pub fn with_keyring(self, keyring: Arc<dyn Keyring>) -> Self {
        let _ = self.0.keyring.set(keyring);
        self
    }

    /// What secrets are opened with, if anything.
    #[must_use]
    pub fn keyring(&self) -> Option<&Arc<dyn Keyring>> {
        self.0.keyring.get()
    }
}

impl Handler for Caller {
    fn call(&self, context: JobContext) -> BoxFuture<'static, Ending> {
        let inner = self.0.clone();
        async move {
            let Target::Http(http) = context.target() else {
                return Ending::Failed(Failure::permanent("the job's target is not an endpoint"));
            };
            tokio::select! {
                biased;
                // Whoever cancelled it knows whether it comes again: only after a shutdown.
                () = context.token().cancelled() => Ending::Interrupted,
                called = inner.call(http, &context) => match called {
                    Ok(()) => Ending::Success,
                    Err(failure) => Ending::Failed(failure),
                },
            }
        }
        .boxed()
    }
}

impl Inner {
    /// The client that waits this long for a connection.
    fn client(&self, connect_timeout: Duration) -> Result<Client, Failure> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MAX_CLIENTS && !clients.contains_key(&connect_timeout) {
            // Each holds connections open; those in use live on until their answers are read.
            clients.retain(|known, _| *known == CONNECT_TIMEOUT);
        }
        let made = || client(&self.reach, connect_timeout, self.hosts.most());
        clients.entry(connect_timeout).or_insert_with(made).clone()
    }

    async fn call(&self, http: &Http, context: &JobContext) -> Result<(), Failure> {
        let refused = |refused: OutOfReach| {
            trail::record_refusal(context, http.url());
            Failure::permanent(&refused.to_string())
        };
        let trail = Trail::to(http.url(), &self.reach).map_err(refused)?;
        let client = self.client(http.connect_timeout().unwrap_or(CONNECT_TIMEOUT))?;
        let owner = &context.spec().owner;
        // Whoever waits for their own turn must not keep a host's from others.
        let _turn = if owner.is_empty() { None } else { self.owners.enter(owner).await };
        let _room = self.hosts.enter(&host_of(http.url())).await;
        // Thousands may wait for their turn: the state of a request is large, and made when it begins.
        Box::pin(self.ask(http, context, &client, trail)).await
    }

    /// Makes the request and keeps what is answered.
    async fn ask(
        &self,
        http: &Http,
        context: &JobContext,
        client: &Client,
        trail: Arc<Trail>,
    ) -> Result<(), Failure> {
        let keyring = self.keyring.get().map(|keyring| &**keyring);
        // Signed when it is sent: whoever verifies it compares clocks.
        let request = request::build(http, context, keyring, self.clock.now())?;
        let began = self.clock.monotonic();
        let sent = trail.follow(answered(http, client.execute(request))).await;
        let address = sent.as_ref().ok().and_then(reqwest::Response::remote_addr);
        trail.record(context, http.url(), address);
        let response = sent?;
        let status = response.status();
        let unexpected = (!http.expects(status.as_u16()))
            .then(|| answer::unexpected(status, response.headers(), self.clock.now()));
        let Body { bytes, truncated, error } = answer::read(response).await;
        let took = self.clock.monotonic().saturating_sub(began);
        let body = bytes.into_boxed_slice();
        context.record_response(Response { status: status.as_u16(), took, body, truncated });
        let broken = || error.map(|error| answer::broken(&error, http));
        unexpected.or_else(broken).map_or(Ok(()), Err)
    }
}

/// The answer, once it has begun.
async fn answered(
    http: &Http,
    sent: impl Future<Output = reqwest::Result<reqwest::Response>>,
) -> Result<reqwest::Response, Failure> {
    let sent = match http.first_byte_timeout() {
        None => sent.await,
        Some(patience) => tokio::time::timeout(patience, sent)
            .await
            .map_err(|_| answer::not_begun(http, patience))?,
    };
    sent.map_err(|error| answer::broken(&error, http))
}

/// A client that keeps up to `idle` connections to a host for later.
fn client(reach: &Arc<Reach>, connect_timeout: Duration, idle: usize) -> Result<Client, Failure> {
    // A program that has chosen another provider keeps it.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    // As many as may be in use at once: of fewer, others are closed and made anew all the time.
    let builder = || builder(reach, connect_timeout).pool_max_idle_per_host(idle);
    let made = builder().build().or_else(|error| {
        warn!(%error, "No certificates of the system: https endpoints will not be trusted");
        builder().tls_certs_only([]).build()
    });
    made.map_err(|error| Failure::transient(&format!("no http client: {}", answer::root(&error))))
}

fn builder(reach: &Arc<Reach>, connect_timeout: Duration) -> ClientBuilder {
    Client::builder()
        .dns_resolver(Arc::new(Resolver::new(reach.clone())))
        .no_proxy()
        .redirect(redirect::Policy::none())
        // The scheduler counts attempts, so nothing below it may try again.
        .retry(reqwest::retry::never())
        .referer(false)
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_TIMEOUT)
}
