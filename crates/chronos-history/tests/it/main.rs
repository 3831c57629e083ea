//! The laws and the spelling of periods.

mod laws;
mod spelling;
