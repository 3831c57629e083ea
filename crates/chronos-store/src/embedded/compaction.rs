//! Compacting: on a thread that may block, unit by unit, until someone wants it to stop.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chronos_core::store::{Compacted, CompactionHook, Error, Result};

use super::state::engine;
use crate::kv::Kv;

/// Compacts until the hook breaks. When the future is dropped the unit under way ends, and no other
/// begins.
pub(super) async fn compact(kv: Arc<dyn Kv>, hook: CompactionHook) -> Result<Compacted> {
    let awaited = Awaited::default();
    let dropped = awaited.0.clone();
    let work = tokio::task::spawn_blocking(move || {
        kv.compact(&mut |progress| {
            if dropped.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            hook(progress)
        })
    });
    match work.await {
        Ok(compacted) => engine(compacted),
        Err(error) => Err(Error::Unavailable(format!("the compaction broke off: {error}"))),
    }
}

/// Remembers that nobody waits any more.
#[derive(Default)]
struct Awaited(Arc<AtomicBool>);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
