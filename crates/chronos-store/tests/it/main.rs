//! What every store promises, proven on each engine.
#![expect(
    clippy::unwrap_used,
    reason = "the helpers of tests may panic as the tests themselves do"
)]

mod answers;
mod bench;
mod conformance;
mod differential;
#[cfg(any(feature = "fjall", feature = "rocksdb"))]
mod disk;
mod embedded;
mod kv;
mod model;
#[cfg(feature = "postgres")]
mod postgres;
mod shared_kv;

use conformance::accounts::account_conformance;
use conformance::conformance;
use conformance::subscriptions::subscription_conformance;
use differential::differential;
use kv::kv_conformance;

// The tests of the whole workspace have the fjall engine, because the daemon asks for it; those of this
// crate alone have it with `--features fjall`. Histories on disk are fewer: each opens its engine many times.
conformance!(memory, crate::bench::memory, 1_000);
conformance!(tiny_volumes, crate::bench::tiny_volumes, 1_000);
#[cfg(feature = "fjall")]
conformance!(fjall, crate::disk::engine::fjall, 40);
#[cfg(feature = "rocksdb")]
conformance!(rocksdb, crate::disk::engine::rocksdb, 40);
// Histories on PostgreSQL are fewer: each step is a dozen transactions.
#[cfg(feature = "postgres")]
conformance!(on_postgres, crate::postgres::fresh, 12);

// Where a step takes longer, fewer histories are lived through.
differential!(differential_on_memory, crate::bench::memory, 1_500);
#[cfg(feature = "fjall")]
differential!(differential_on_fjall, crate::disk::engine::fjall, 150);
#[cfg(feature = "rocksdb")]
differential!(differential_on_rocksdb, crate::disk::engine::rocksdb, 150);
#[cfg(feature = "postgres")]
differential!(differential_on_postgres, crate::postgres::fresh, 40);

account_conformance!(memory_accounts, crate::bench::shared_memory);
#[cfg(feature = "fjall")]
account_conformance!(fjall_accounts, crate::disk::engine::fjall_on_disk);
#[cfg(feature = "rocksdb")]
account_conformance!(rocksdb_accounts, crate::disk::engine::rocksdb_on_disk);
#[cfg(feature = "postgres")]
account_conformance!(postgres_accounts, crate::postgres::fresh);

subscription_conformance!(memory_subscriptions, crate::bench::shared_memory);
#[cfg(feature = "fjall")]
subscription_conformance!(fjall_subscriptions, crate::disk::engine::fjall_on_disk);
#[cfg(feature = "rocksdb")]
subscription_conformance!(rocksdb_subscriptions, crate::disk::engine::rocksdb_on_disk);
#[cfg(feature = "postgres")]
subscription_conformance!(postgres_subscriptions, crate::postgres::fresh);

kv_conformance!(memory_kv, chronos_store::kv::MemoryKv::new);
#[cfg(feature = "fjall")]
kv_conformance!(fjall_kv, crate::disk::fresh::<chronos_store::kv::fjall::FjallKv>);
#[cfg(feature = "rocksdb")]
kv_conformance!(rocksdb_kv, crate::disk::fresh::<chronos_store::kv::rocksdb::RocksKv>);

#[cfg(feature = "fjall")]
disk::promises!(fjall_on_disk, chronos_store::kv::fjall::FjallKv);
#[cfg(feature = "rocksdb")]
disk::promises!(rocksdb_on_disk, chronos_store::kv::rocksdb::RocksKv);
