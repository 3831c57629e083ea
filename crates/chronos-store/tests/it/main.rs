//! What every store promises, proven on each engine.
#![expect(
    clippy::unwrap_used,
    reason = "the helpers of tests may panic as the tests themselves do"
)]

mod answers;
mod bench;
mod conformance;
mod disk;
mod embedded;
mod kv;
mod model;
mod shared_kv;

use conformance::conformance;
use kv::kv_conformance;

// Histories on disk are fewer: each opens its engine many times.
conformance!(memory, crate::bench::memory, 1_000);
#[cfg(feature = "fjall")]
conformance!(fjall, crate::bench::fjall, 40);
#[cfg(feature = "rocksdb")]
conformance!(rocksdb, crate::bench::rocksdb, 40);

kv_conformance!(memory_kv, chronos_store::kv::MemoryKv::new);
#[cfg(feature = "fjall")]
kv_conformance!(fjall_kv, crate::disk::fresh::<chronos_store::kv::fjall::FjallKv>);
#[cfg(feature = "rocksdb")]
kv_conformance!(rocksdb_kv, crate::disk::fresh::<chronos_store::kv::rocksdb::RocksKv>);

#[cfg(feature = "fjall")]
disk::promises!(fjall_on_disk, chronos_store::kv::fjall::FjallKv);
#[cfg(feature = "rocksdb")]
disk::promises!(rocksdb_on_disk, chronos_store::kv::rocksdb::RocksKv);
