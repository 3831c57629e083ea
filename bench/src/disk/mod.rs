//! The store on disk: a real fjall in a directory of its own, every step synced.

mod bare;
mod catch_up;
mod history;
mod listing;
mod messages;
mod million;
mod seam;
mod throughput;

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use chronos_core::Store;
use chronos_store::kv::fjall::FjallKv;
use chronos_store::{DataDir, EmbeddedStore, Engine, Retention, StoreUrl, Tuning};
use tempfile::TempDir;

pub(crate) use catch_up::{catch_up, measure as backlog, policies};
pub(crate) use history::measure as history;
pub(crate) use messages::{measure as messages, saying};
pub(crate) use million::{load as million_load, measure as million, run as million_run};
pub(crate) use throughput::measure as throughput;

/// What the daemon keeps.
pub(crate) fn retention() -> Retention {
    Retention {
        executions_per_job: NonZeroU32::new(10_000),
        audit_events: None,
        ..Retention::default()
    }
}

/// A directory on the disk of temporary files; `TMPDIR` moves it.
pub(crate) fn directory() -> anyhow::Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("chronos-bench-").tempdir()?)
}

/// The store that a daemon opens there.
pub(crate) fn open(path: &Path, retention: Retention) -> anyhow::Result<Arc<dyn Store>> {
    let url = StoreUrl::Directory(Engine::Fjall, path.join("data"));
    Ok(Arc::new(chronos_store::open(&url, retention, Tuning::default())?))
}

/// The same store without syncs, to fill it.
pub(crate) fn open_unsynced(path: &Path, retention: Retention) -> anyhow::Result<Arc<dyn Store>> {
    let directory = DataDir::open(&path.join("data"), Engine::Fjall)?;
    let kv = FjallKv::open(directory, Tuning::default())?;
    Ok(Arc::new(EmbeddedStore::open(seam::Unsynced(kv), retention)?))
}
