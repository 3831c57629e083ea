//! A cluster: several real processes on one real PostgreSQL, of which any may fail.

mod accounts;
mod clocks;
mod failing;
mod nodes;
mod settings;
mod sharing;
