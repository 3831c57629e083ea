//! The history: reading the journal into it, rolling it up, and what that costs those who serve meanwhile.

mod projector;
mod rollup;

pub(crate) use projector::measure as projector;
pub(crate) use rollup::measure as rollup;
