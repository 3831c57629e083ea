//! The engine's promises, on virtual time.

mod service;
