//! The integration tests of the engine and the library form, one binary.

mod crowd;
#[cfg(feature = "http")]
mod http;
mod service;
mod world;
