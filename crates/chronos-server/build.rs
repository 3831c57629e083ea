//! Compiles the gRPC contract, without a `protoc` on the machine.

use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let contract = root.join("chronos/v1/chronos.proto");
    println!("cargo::rerun-if-changed={}", contract.display());
    let descriptors = protox::compile([&contract], [&root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // The reflection service hands these to whoever asks.
    let mut bytes = Vec::new();
    prost::Message::encode(&descriptors, &mut bytes)?;
    std::fs::write(out.join("chronos_descriptor.bin"), bytes)?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
