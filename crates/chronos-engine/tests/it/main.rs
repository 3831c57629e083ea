//! The integration tests of the engine and the library form, one binary.

mod service;
mod world;
