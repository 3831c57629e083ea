//! The binary `chronos`.

use std::process::ExitCode;

fn main() -> ExitCode {
    chronos_server::cli::main()
}
