//! The laws and the spelling of periods, what is counted of jobs, and the archive it is kept in.
#![expect(
    clippy::unwrap_used,
    reason = "the helpers of tests may panic as the tests themselves do"
)]

mod archive;
mod facts;
mod laws;
mod notes;
mod projecting;
mod search;
mod sketch;
mod spelling;
mod stores;
mod world;
