//! The gRPC contract as Rust types, generated from `proto/chronos/v1`.
//!
//! `make proto` writes them anew, and a test sees to it that someone did: a build that generated them
//! would compile a compiler first.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::large_enum_variant,
    clippy::pedantic,
    reason = "generated from the contract"
)]

include!("proto/chronos.v1.rs");

/// A request may hold secrets, so nothing but where it goes is shown.
impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The contract itself, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!("proto/chronos.v1.bin");
