//! Peers on the same PostgreSQL: fetched from where they are published, and run in processes of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::{Context, bail};

/// Programs that measure peers, ready to be run.
pub(super) struct Kit {
    program: PathBuf,
    directory: PathBuf,
}

impl Kit {
    /// The peers on npm, or nothing where npm is missing or does not reach them, which is told.
    pub(super) fn of_npm() -> anyhow::Result<Option<Self>> {
        let directory = workshop("node")?;
        for file in ["package.json", "package-lock.json", "clock.mjs", "graphile.mjs", "boss.mjs"] {
            fs::copy(source("node").join(file), directory.join(file))
                .with_context(|| format!("cannot copy {file}"))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        let installed = succeeds("npm", npm.current_dir(&directory))?;
        Ok(installed.then(|| Self { program: "node".into(), directory }))
    }

    /// The peers that are crates, or nothing where they cannot be built, which is told.
    pub(super) fn of_crates() -> anyhow::Result<Option<Self>> {
        let directory = workshop("rust")?;
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]);
        cargo.arg(source("rust").join("Cargo.toml")).arg("--target-dir").arg(&directory);
        let built = succeeds("cargo", &mut cargo)?;
        Ok(built
            .then(|| Self { program: directory.join("release/chronos-bench-peers"), directory }))
    }

    /// Runs a program to its end; gives back the figures that it tells, a line each.
    pub(super) fn run(&self, arguments: &[&str]) -> anyhow::Result<Vec<f64>> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.directory).stderr(Stdio::null());
        let output = command.output().with_context(|| format!("{command:?} does not start"))?;
        if !output.status.success() {
            bail!("{command:?} failed with {}", output.status);
        }
        let told = String::from_utf8_lossy(&output.stdout);
        told.lines()
            .map(|line| line.trim().parse().with_context(|| format!("{command:?} told {line:?}")))
            .collect()
    }
}

/// Where programs that measure peers are kept.
fn source(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(kind)
}

/// Where they are installed: beside this program, so outside the checkout.
fn workshop(kind: &str) -> anyhow::Result<PathBuf> {
    let directory = std::env::current_exe()?.with_file_name("peers").join(kind);
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Whether a command that fetches peers succeeds; tells why not.
fn succeeds(name: &str, command: &mut Command) -> anyhow::Result<bool> {
    match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => return Ok(true),
        Ok(status) => eprintln!("{name} could not fetch its peers ({status}): they are left out"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("there is no {name} on this machine: its peers are left out");
        }
        Err(error) => return Err(error).context(format!("{name} does not start")),
    }
    Ok(false)
}
