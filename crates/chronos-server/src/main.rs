//! The binary `chronos`.

use std::process::ExitCode;

/// Runs are allocated on one thread and freed on another all the time, which this allocator is made for.
/// It asks for no huge pages: clearing one may keep a run waiting for milliseconds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    chronos_server::cli::main()
}
