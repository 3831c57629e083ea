//! `chronos serve`: the daemon in this process, until a signal asks it to stop.

use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::Error;
use crate::daemon::{Daemon, ServeConfig};

#[derive(Debug, clap::Args)]
#[command(after_help = "SIGTERM or Ctrl-C stops it in order; a second one at once.")]
pub(super) struct Args {
    /// The address to answer on, of this machine only
    #[arg(long, value_name = "ADDR", default_value_t = ServeConfig::LISTEN, value_parser = listen)]
    listen: SocketAddr,
    /// Where jobs and their history are kept
    #[arg(long, value_name = "DIR", default_value = "chronos-data")]
    data_dir: PathBuf,
    /// How long runs may take to end once it is asked to stop
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    shutdown_timeout: u64,
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("\"{text}\" is not an address; use one such as 127.0.0.1:8080 or [::1]:8080")
    })
}

impl Args {
    fn config(&self) -> ServeConfig {
        let mut config = ServeConfig::new(&self.data_dir);
        config.listen = self.listen;
        config.scheduler.shutdown_timeout_secs = self.shutdown_timeout;
        config
    }
}

/// Serves as the arguments say.
pub(super) fn run(args: &Args) -> Result<(), Error> {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false);
    log.with_env_filter(filter.from_env_lossy()).init();
    serve(args.config())
}

/// Serves until a signal asks to stop. A second one ends the process at once, with the exit code
/// that a shell would give it.
pub(crate) fn serve(config: ServeConfig) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::Machine)?;
    let served = runtime.block_on(until_signalled(config));
    // A run that blocks its thread must not keep the process.
    runtime.shutdown_background();
    served
}

async fn until_signalled(config: ServeConfig) -> Result<(), Error> {
    let mut signals = Signals::listen().map_err(Error::Machine)?;
    let daemon = tokio::select! {
        started = Daemon::start(config, async |_| Ok(())) => started?,
        asked = signals.next() => {
            info!(signal = asked.name(), "Asked to stop before it was ready");
            return Ok(());
        }
    };
    let asked = signals.next().await;
    info!(signal = asked.name(), "Asked to stop");
    tokio::select! {
        stopped = daemon.shutdown() => stopped?,
        again = signals.next() => {
            warn!(signal = again.name(), "Asked again: exiting at once");
            std::process::exit(again.exit_code());
        }
    }
    info!("Shutdown complete");
    Ok(())
}

/// The two ways in which a process is asked to stop.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[derive(Clone, Copy)]
enum Asked {
    Interrupt,
    Terminate,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::Interrupt,
            _ = self.terminate.recv() => Asked::Terminate,
        }
    }
}

impl Asked {
    fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    /// 128 and the signal's number, as shells have it.
    fn exit_code(self) -> i32 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}
