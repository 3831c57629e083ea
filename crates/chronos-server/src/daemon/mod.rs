//! The daemon: a scheduler over a store, and one port that answers for both.

mod config;
mod gate;
mod guard;
mod history;
mod listener;
mod notify;
mod own;
mod probes;
mod routes;
mod store;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use chronos_engine::{SchedulerError, SchedulerService};
use chronos_store::OpenError;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

pub use config::{Limits, ServeConfig};

use crate::auth::Auth;
pub(crate) use gate::{Gate, Phase};
pub(crate) use guard::refuse_with;
use history::Keeping;
use listener::Server;
use probes::Probes;
use routes::Behind;

use crate::metrics::Metrics;
pub use crate::secrets::KeyFileError;
use crate::secrets::Resealer;

/// Why a daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address can be reached from other machines, and nobody could ever get in.
    #[error(
        "listen: {0} is not accepted; use a loopback address such as 127.0.0.1:8080 or [::1]:8080, \
         or a store on disk: beside it is the token that makes the first user"
    )]
    NotLoopback(SocketAddr),
    /// What it knows its users by cannot be used.
    #[error(transparent)]
    Auth(#[from] crate::auth::Error),
    /// The address cannot be listened on.
    #[error("listen: cannot listen on {address}: {error}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the machine says.
        error: std::io::Error,
    },
    /// The scheduler cannot work as it is configured, or not on this store.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The store cannot be opened.
    #[error("data_dir: {0}")]
    Open(#[from] OpenError),
    /// The database cannot be opened.
    #[error("database_url: {0}")]
    Database(OpenError),
    /// The store does not answer or cannot be written to.
    #[error(transparent)]
    Store(chronos_core::store::Error),
    /// The key of secrets cannot be used.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The secret that signs notices cannot be used.
    #[error("notify_signing_secret_file: cannot use {}: {problem}", .path.display())]
    SigningSecret {
        /// The file that was to hold it.
        path: PathBuf,
        /// What is wrong with it; never what it holds.
        problem: String,
    },
    /// The program was put together wrongly.
    #[error("the reflection service cannot read its contract: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    service: Arc<SchedulerService>,
    keeping: Keeping,
    gate: Arc<Gate>,
    probes: Probes,
    server: Server,
    /// Ends the streams.
    closing: CancellationToken,
    limits: Limits,
}

impl Daemon {
    /// Opens the store, lets `register` add this program's own jobs, starts the scheduler and answers.
    /// Whatever can be refused is refused before anything runs.
    pub async fn start(
        mut config: ServeConfig,
        register: impl AsyncFnOnce(&SchedulerService) -> Result<(), SchedulerError>,
    ) -> Result<Self, Error> {
        config.validate()?;
        notify::sign(&mut config)?;
        let opened = store::open(&config).await?;
        let listen = config.listen;
        let bound = TcpListener::bind(listen).await;
        let bound = bound.map_err(|error| Error::Listen { address: listen, error })?;
        let address =
            bound.local_addr().map_err(|error| Error::Listen { address: listen, error })?;
        let own = own::denied(address, config.database.as_ref()).await;
        config.scheduler.reach = config.scheduler.reach.without(own);
        let (scheduler, store) = (config.scheduler.clone(), opened.store.clone());
        let service = SchedulerService::with_store(scheduler, store, opened.clock.clone())?;
        let (subscriptions, accounts) = (opened.subscriptions.clone(), opened.accounts.clone());
        let service =
            service.with_subscriptions(subscriptions, Some(accounts), crate::rest::write_event);
        let keys = store::keys(&config)?.map(Arc::new);
        let service = Arc::new(match keys.clone() {
            Some(keys) => service.with_keyring(keys),
            None => service,
        });
        let timekeeper = opened.timekeeper(service.brake(), &config).await?;
        let private = config.private_dir().map(ToOwned::to_owned);
        let metrics = Arc::new(Metrics::new());
        service.observe(metrics.clone());
        register(&service).await?;
        let mut keeping = Keeping::prepare(&config, &opened, &service).await?;
        let ServeConfig { limits, auth, .. } = config;
        let (accounts, clock) = (opened.accounts.clone(), opened.clock.clone());
        let auth = Auth::open(&auth, accounts, clock, private.as_deref(), address)?;
        let auth = Arc::new(auth);
        auth.tell_of_first_user().await;
        let gate = Arc::new(Gate::new());
        let probes = Probes::new(service.clone(), gate.clone());
        let closing = CancellationToken::new();
        let behind = Behind {
            service: &service,
            own: opened.own.as_ref(),
            metrics: &metrics,
            auth: &auth,
            history: &keeping.history,
            local: keeping.local.as_ref(),
            gate: &gate,
            probes: &probes,
            closing: &closing,
            limits: &limits,
        };
        let routes = if config.scheduler.roles.api {
            routes::all(&behind)?
        } else {
            routes::about_itself(&behind)
        };
        service.reconcile(opened.lost).await;
        service.start().await?;
        keeping.start(&service, closing.clone()).await?;
        if let Some(timekeeper) = timekeeper {
            metrics.watch_clock(timekeeper.skew());
            tokio::spawn(timekeeper.run(closing.clone()));
        }
        if let Some(keys) = keys.filter(|keys| keys.are_changing()) {
            let (store, clock) = (opened.store.clone(), opened.clock.clone());
            let subscriptions = opened.subscriptions.clone();
            let resealer = Resealer { store, subscriptions, clock, keys };
            tokio::spawn(resealer.run(closing.clone()));
        }
        let server = Server::start(bound, routes, &limits)
            .map_err(|error| Error::Listen { address: listen, error })?;
        gate.open();
        probes.update().await;
        probes.keep_up(closing.clone());
        let daemon = Self { service, keeping, gate, probes, server, closing, limits };
        info!(address = %daemon.address(), "Listening");
        Ok(daemon)
    }

    /// The address that it answers on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The scheduler that it serves.
    #[must_use]
    pub fn scheduler(&self) -> &Arc<SchedulerService> {
        &self.service
    }

    /// Stops in order: no more requests, the scheduler (runs are awaited for up to its shutdown
    /// timeout), the store's flush, the connections.
    pub async fn shutdown(self) -> Result<(), Error> {
        self.gate.close();
        self.probes.update().await;
        info!("No more requests accepted");
        // What was accepted before may still write.
        if tokio::time::timeout(self.limits.close_timeout, self.gate.drained()).await.is_err() {
            warn!("Requests did not end in time");
        }
        let stopped_local = self.keeping.stop().await;
        let stopped = self.service.shutdown().await;
        let flushed = self.service.store().flush().await;
        match &flushed {
            Ok(()) => info!("Store flushed"),
            Err(error) => error!(%error, "Store not flushed"),
        }
        self.closing.cancel();
        self.probes.close().await;
        let cut = self.server.close(self.limits.close_timeout).await;
        info!(cut, "Connections closed");
        self.keeping.closed(self.limits.close_timeout).await;
        // Whatever went wrong, everyone was let go first.
        stopped_local?;
        stopped?;
        flushed.map_err(Error::Store)
    }
}
