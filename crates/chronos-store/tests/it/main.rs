//! What every store promises, proven on each engine.
#![expect(
    clippy::unwrap_used,
    reason = "the helpers of tests may panic as the tests themselves do"
)]

mod answers;
mod bench;
mod conformance;
mod embedded;
mod kv;
mod model;
mod shared_kv;

use conformance::conformance;
use kv::kv_conformance;

conformance!(memory, crate::bench::memory);

kv_conformance!(memory_kv, chronos_store::kv::MemoryKv::new);
