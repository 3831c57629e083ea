//! Opens a store by its address.

use std::sync::Arc;

#[cfg(feature = "fjall")]
use crate::kv::fjall::FjallKv;
#[cfg(feature = "rocksdb")]
use crate::kv::rocksdb::RocksKv;
use crate::kv::{Kv, MemoryKv};
#[cfg(any(feature = "fjall", feature = "rocksdb"))]
use crate::{DataDir, Engine};
use crate::{EmbeddedStore, OpenError, Retention, StoreUrl};

/// How much an engine may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Memory for blocks that were read from disk.
    pub cache_bytes: u64,
}

impl Default for Tuning {
    /// 16 MiB: what is due and alive is held in the store's own index, so that the engine is asked for
    /// little more than the jobs that fire.
    fn default() -> Self {
        Self { cache_bytes: 16 << 20 }
    }
}

/// Opens the store at an address; makes its directory if there is none.
pub fn open(
    url: &StoreUrl,
    retention: Retention,
    tuning: Tuning,
) -> Result<EmbeddedStore, OpenError> {
    Ok(EmbeddedStore::over(engine(url, tuning)?, retention)?)
}

/// Opens the engine at an address.
#[cfg_attr(
    not(any(feature = "fjall", feature = "rocksdb")),
    expect(unused_variables, reason = "memory has nothing to tune")
)]
pub(crate) fn engine(url: &StoreUrl, tuning: Tuning) -> Result<Arc<dyn Kv>, OpenError> {
    match url {
        StoreUrl::Memory => Ok(Arc::new(MemoryKv::new())),
        #[cfg(feature = "fjall")]
        StoreUrl::Directory(Engine::Fjall, path) => {
            Ok(Arc::new(FjallKv::open(DataDir::open(path, Engine::Fjall)?, tuning)?))
        }
        #[cfg(feature = "rocksdb")]
        StoreUrl::Directory(Engine::RocksDb, path) => {
            Ok(Arc::new(RocksKv::open(DataDir::open(path, Engine::RocksDb)?, tuning)?))
        }
        #[cfg(not(all(feature = "fjall", feature = "rocksdb")))]
        StoreUrl::Directory(engine, _) => Err(OpenError::NotBuilt(*engine)),
    }
}
