//! A cluster as it is run: the real binary on several nodes, and a real PostgreSQL that they share.

mod accounts;
mod backfilling;
mod chaos;
pub(crate) mod clocks;
mod cutting;
mod failing;
mod killing;
mod load;
mod messages;
pub(crate) mod nodes;
mod pooling;
mod pressing;
mod proxy;
mod pushing;
mod quieting;
mod settings;
mod sharing;
mod trusting;
