//! The integration tests of the engine and the library form, one binary.

#[cfg(feature = "http")]
mod http;
mod service;
mod world;
