//! The daemon as it is installed, in a process of its own on a directory of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use reqwest::Client;
use tokio::process::{Child, Command};

use super::client;

/// A daemon on a directory of its own.
pub(super) struct Daemon {
    process: Child,
    pub(super) client: Client,
    pub(super) url: String,
}

impl Daemon {
    pub(super) async fn start(data: PathBuf) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("chronos");
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let process = Command::new(&program)
            .args(["serve", "--listen", &address, "--data-dir"])
            .arg(data)
            .env("CHRONOS_MAX_REQUESTS_PER_SECOND", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| {
                format!("cannot start {}; `make bench` builds it", program.display())
            })?;
        let client = client()?;
        let daemon = Self { process, client, url: format!("http://{address}") };
        for _ in 0..200 {
            let answer = daemon.client.get(format!("{}/readyz", daemon.url)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(daemon);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("the daemon is not ready after 10 s")
    }

    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        self.process.kill().await?;
        Ok(())
    }
}
