//! Engines on disk, as the conformance suite wants them: closed and opened again in one directory.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chronos_core::Store;
use chronos_core::account::Accounts;
use chronos_core::subscription::Subscriptions;
use chronos_store::{EmbeddedStore, Retention};
use tempfile::TempDir;

use super::Disk;
use crate::bench::Engine;
use crate::conformance::accounts::Place;
use crate::conformance::subscriptions::Shelf;
use crate::shared_kv::SharedKv;

/// An engine on disk, in a directory of its own.
pub(crate) struct OnDisk<K> {
    directory: TempDir,
    open: Mutex<Option<SharedKv<K>>>,
}

impl<K: Disk> OnDisk<K> {
    fn new() -> Self {
        Self { directory: quick_directory(), open: Mutex::default() }
    }
}

/// A directory for tests that are about answers and not about the disk, which has tests of its own: where
/// there is memory that looks like a disk, thousands of syncs cost nothing.
pub(super) fn quick_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    TempDir::new_in(parent).unwrap()
}

/// The fjall engine.
#[cfg(feature = "fjall")]
pub(crate) async fn fjall() -> impl Engine {
    OnDisk::<chronos_store::kv::fjall::FjallKv>::new()
}

/// The RocksDB engine.
#[cfg(feature = "rocksdb")]
pub(crate) async fn rocksdb() -> impl Engine {
    OnDisk::<chronos_store::kv::rocksdb::RocksKv>::new()
}

/// The fjall engine, for accounts and subscriptions.
#[cfg(feature = "fjall")]
#[expect(clippy::unused_async, reason = "other places take a while to make")]
pub(crate) async fn fjall_on_disk() -> impl Place + Shelf {
    OnDisk::<chronos_store::kv::fjall::FjallKv>::new()
}

/// The RocksDB engine, for accounts and subscriptions.
#[cfg(feature = "rocksdb")]
#[expect(clippy::unused_async, reason = "other places take a while to make")]
pub(crate) async fn rocksdb_on_disk() -> impl Place + Shelf {
    OnDisk::<chronos_store::kv::rocksdb::RocksKv>::new()
}

impl<K: Disk> OnDisk<K> {
    fn reopen(&self) -> Arc<EmbeddedStore> {
        let mut open = self.open.lock().unwrap();
        // One process opens a directory once.
        *open = None;
        let kv = SharedKv::new(K::open_in(self.directory.path()).unwrap());
        *open = Some(kv.clone());
        // Small ones, so that even a short history is in several.
        Arc::new(EmbeddedStore::with_volumes_of(2, kv, Retention::default()).unwrap())
    }
}

#[async_trait]
impl<K: Disk> Place for OnDisk<K> {
    async fn accounts(&self) -> Arc<dyn Accounts> {
        self.reopen()
    }
}

#[async_trait]
impl<K: Disk> Shelf for OnDisk<K> {
    async fn subscriptions(&self) -> Arc<dyn Subscriptions> {
        self.reopen()
    }
}

#[async_trait]
impl<K: Disk> Engine for OnDisk<K> {
    async fn open(&self) -> Arc<dyn Store> {
        self.reopen()
    }

    async fn twin(&self) -> Arc<dyn Store> {
        let kv = self.open.lock().unwrap().clone().unwrap();
        Arc::new(EmbeddedStore::open(kv, Retention::default()).unwrap())
    }
}
