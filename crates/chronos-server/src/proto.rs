//! The gRPC contract as Rust types, generated from `proto/chronos/v1`.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::large_enum_variant,
    clippy::pedantic,
    reason = "generated from the contract"
)]

tonic::include_proto!("chronos.v1");

/// A request may hold secrets, so nothing but where it goes is shown.
impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The contract itself, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/chronos_descriptor.bin"));
