//! The gRPC contract as Rust types, generated from `proto/chronos/v1`.

#![allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "generated from the contract")]

tonic::include_proto!("chronos.v1");

/// The contract itself, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/chronos_descriptor.bin"));
