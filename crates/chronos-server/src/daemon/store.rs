//! The store that a daemon opens: one of its own, or the database that a cluster shares.

use std::sync::Arc;

use chronos_core::Store;
use chronos_core::account::Accounts;
use chronos_core::subscription::Subscriptions;
use chronos_engine::run::{Brake, Timekeeper};
use chronos_engine::{Clock, EmbeddedStore, SharedClock, SystemClock};
use chronos_store::{PostgresStore, Retention, StoreUrl, Tuning};
use tracing::{info, warn};

use super::{Error, ServeConfig};
use crate::secrets::{Key, Keys};

/// A store, and the clock that decisions about it are made by.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    /// The same store, as that which remembers users.
    pub(super) accounts: Arc<dyn Accounts>,
    /// The same store, as that which remembers who subscribed to message events.
    pub(super) subscriptions: Arc<dyn Subscriptions>,
    /// The same store where it is this daemon's own, as that which can be copied.
    pub(super) own: Option<Arc<EmbeddedStore>>,
    pub(super) clock: Arc<dyn Clock>,
    /// Runs that a process before this one left, and that were ended.
    pub(super) lost: u64,
    /// The same clock where it is shared.
    shared: Option<Arc<SharedClock>>,
}

/// Opens the store that the configuration names.
pub(super) async fn open(config: &ServeConfig) -> Result<Opened, Error> {
    let clock = Arc::new(SystemClock::new());
    if let Some(database) = &config.database {
        let store = PostgresStore::open(database.clone()).await.map_err(Error::Database)?;
        let store = Arc::new(store);
        info!(schema = database.schema, "Database opened");
        let shared = Arc::new(SharedClock::new(clock));
        let clock = shared.clone();
        let (accounts, subscriptions) = (store.clone(), store.clone());
        let shared = Some(shared);
        return Ok(Opened { store, accounts, subscriptions, own: None, clock, lost: 0, shared });
    }
    let own = Arc::new(open_own(config)?);
    info!(store = %config.store, "Store opened");
    own.notify_on(config.scheduler.notify.as_ref().map(|notify| notify.on));
    let orphans = own.reap_orphans(clock.now()).await.map_err(Error::Store)?;
    if !orphans.is_empty() {
        warn!(runs = orphans.len(), "Runs ended that a process before this one left");
    }
    let (store, accounts, subscriptions) = (own.clone(), own.clone(), own.clone());
    let lost = orphans.len() as u64;
    Ok(Opened { store, accounts, subscriptions, own: Some(own), clock, lost, shared: None })
}

fn open_own(config: &ServeConfig) -> Result<EmbeddedStore, Error> {
    let retention = Retention {
        executions_per_job: Some(config.scheduler.history_per_job),
        audit_events: None,
        message_events: None,
    };
    Ok(chronos_store::open(&config.store, retention, Tuning::default())?)
}

/// The key of secrets: in the file that is named, or beside the files of a store of its own. A store
/// that forgets has a key that is forgotten with it; nodes that share a database share no key unless
/// someone gives it to them. Beside it are the keys whose place it takes.
pub(super) fn keys(config: &ServeConfig) -> Result<Option<Keys>, Error> {
    let key = match (&config.secret_key_file, &config.store) {
        (Some(file), _) => Key::load(file)?,
        (None, _) if config.database.is_some() => {
            warn!("No secret_key_file: jobs of this node can have no secrets");
            return Ok(None);
        }
        (None, StoreUrl::Directory(_, directory)) => {
            Key::load_or_make(&directory.join("secret.key"))?
        }
        (None, StoreUrl::Memory) => {
            return Ok(Key::random().ok().map(|key| Keys::new(key, Vec::new())));
        }
    };
    info!(key = key.id(), "Secrets are sealed");
    let old: Result<Vec<Key>, _> =
        config.old_secret_key_files.iter().map(|file| Key::load_old(file)).collect();
    Ok(Some(Keys::new(key, old?)))
}

impl Opened {
    /// What keeps the clock true, which it is from now on; nothing where no clock is shared.
    pub(super) async fn timekeeper(
        &self,
        brake: &Arc<Brake>,
        config: &ServeConfig,
    ) -> Result<Option<Timekeeper>, Error> {
        let Some(clock) = &self.shared else {
            return Ok(None);
        };
        let (clock, store, brake) = (clock.clone(), self.store.clone(), brake.clone());
        let mut timekeeper = Timekeeper::new(clock, store, brake, config.max_clock_skew);
        timekeeper.measure().await.map_err(Error::Store)?;
        Ok(Some(timekeeper))
    }
}
