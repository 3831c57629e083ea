//! The dashboard in a browser: how much it loads, when it shows something, and whether it keeps up.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::report::{self, Figure};

/// Measures with a script, because a browser is driven by one; it prints figures as scenarios do.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let daemon = program.with_file_name("chronos");
    let dashboard = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboard");
    let output = Command::new("node")
        .arg("scripts/bench.mjs")
        .current_dir(dashboard)
        .env("CHRONOS_BIN", daemon)
        .stderr(Stdio::inherit())
        .output()
        .context("the dashboard is measured with Node, which is not there")?;
    if !output.status.success() {
        bail!("the dashboard could not be measured");
    }
    report::read(&String::from_utf8_lossy(&output.stdout))
}
