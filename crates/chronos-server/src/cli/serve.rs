//! `chronos serve`: the daemon in this process, until a signal asks it to stop.

use std::io;

use chronos_engine::{CompactionJobConfig, SchedulerService, cores, create_compaction_job};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use super::Error;
use super::config::Layers;
use crate::daemon::{Daemon, ServeConfig};
use crate::logs;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Values come from chronos.toml, over it CHRONOS_* variables, over them flags; chronos config shows \
what is in force.

SIGTERM or Ctrl-C stops it in order; a second one at once.")]
pub(super) struct Args {
    #[command(flatten)]
    layers: Layers,
}

/// Serves as the configuration says.
pub(super) fn run(args: &Args) -> Result<(), Error> {
    let config = args.layers.load()?.config;
    logs::init(&config.log, config.log_format)?;
    serve(
        runtime(config.keep_to_cores).map_err(Error::Machine)?,
        config.serve(),
        config.compaction(),
    )
}

fn runtime(keep_to_cores: bool) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if keep_to_cores && !cores::keep_to_cores(&mut builder)? {
        warn!("Threads do not keep to cores: this process has a share of the cores, or one");
    }
    builder.enable_all().build()
}

/// Serves until a signal asks to stop. A second one ends the process at once, with the exit code
/// that a shell would give it.
fn serve(
    runtime: Runtime,
    config: ServeConfig,
    compaction: CompactionJobConfig,
) -> Result<(), Error> {
    let served = runtime.block_on(until_signalled(config, compaction));
    // A run that blocks its thread must not keep the process.
    runtime.shutdown_background();
    served
}

async fn until_signalled(
    config: ServeConfig,
    compaction: CompactionJobConfig,
) -> Result<(), Error> {
    let mut signals = Signals::listen().map_err(Error::Machine)?;
    let register = async |scheduler: &SchedulerService| {
        let store = scheduler.store().clone();
        create_compaction_job(scheduler, store, compaction).await.map(|_| ())
    };
    let daemon = tokio::select! {
        started = Daemon::start(config, register) => started?,
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
