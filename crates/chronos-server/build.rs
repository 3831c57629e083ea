//! Compiles the gRPC contract, without a `protoc` on the machine.

use std::env::var;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Asked at run time, because checkouts may share one build of this script.
    let root = PathBuf::from(var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let contract = root.join("chronos/v1/chronos.proto");
    println!("cargo::rerun-if-changed={}", contract.display());
    let descriptors = protox::compile([&contract], [&root])?;
    let out = PathBuf::from(var("OUT_DIR")?);
    // The reflection service hands these to whoever asks.
    let mut bytes = Vec::new();
    prost::Message::encode(&descriptors, &mut bytes)?;
    std::fs::write(out.join("chronos_descriptor.bin"), bytes)?;
    // It may hold secrets, so it is shown by hand.
    let build = tonic_prost_build::configure().skip_debug(["chronos.v1.Http"]);
    build.compile_fds(descriptors)?;
    Ok(())
}
