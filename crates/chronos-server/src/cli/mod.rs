//! The command line: its grammar, and the way from arguments to an exit code.

mod args;
mod client;
mod config;
mod describe;
mod error;
mod manual;
mod migrate;
mod next;
mod restore;
mod serve;
mod span;
mod table;
mod wall_clock;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::LazyLock;

use chronos_core::Timestamp;
use clap::{Parser, Subcommand};

pub use self::error::Error;
use crate::clock;

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let program = env!("CARGO_PKG_VERSION");
    format!("{program} (tz database {})", chrono_tz::IANA_TZDB_VERSION)
});

/// A job scheduler that says what will run when, and why.
#[derive(Debug, Parser)]
#[command(name = "chronos", version = VERSION.as_str(), arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run jobs on time, and answer for them over gRPC
    Serve(serve::Args),
    /// Show when a schedule runs next, and what moves its runs
    Next(next::Args),
    /// Say in words what a cron expression means
    Describe(describe::Args),
    /// See and steer what a daemon runs: list, status, pause, resume, run
    Scheduler(client::Scheduler),
    /// Create, change, list, show, steer and delete the jobs of a daemon
    Jobs(client::Jobs),
    /// Show or cancel single executions
    Executions(client::Executions),
    /// List, make, change and remove the hours in which nothing fires
    QuietHours(client::QuietHours),
    /// Follow what message jobs say
    Events(client::Events),
    /// List or follow what was decided and done, by whom and when
    Audit(client::Audit),
    /// Say what happened to a job at a time, or will, and why
    Explain(client::Explain),
    /// Show the next runs of a job, with what moves or stops them
    Preview(client::Preview),
    /// Have past slots of a job run after all, and follow that to its end
    Backfill(client::Backfill),
    /// See and steer backfills: list, show, follow, pause, resume, cancel
    Backfills(client::Backfills),
    /// Show what happened by the hour, the day, the week, the month or the year
    History(client::History),
    /// Have what message jobs say sent to a URL: list, create, show, edit, pause, resume, delete
    Subscriptions(client::Subscriptions),
    /// List what failed for good, and try it again
    DeadLetters(client::DeadLetters),
    /// Log in at a daemon, for the commands that follow
    Login(client::Login),
    /// Log out
    Logout(client::Logout),
    /// Say who you are to a daemon
    Whoami(client::Whoami),
    /// List, make, change and remove the users of a daemon
    Users(client::Users),
    /// List, make and revoke your API keys
    Keys(client::Keys),
    /// Copy a daemon's store into a file while it goes on
    Backup(client::BackupArgs),
    /// Make a backup the store of a new data directory
    Restore(restore::Args),
    /// Bring the schema of a database up to date
    Migrate(migrate::Args),
    /// Print the configuration in force, and where each value came from
    Config(config::Args),
    /// Print a completion script for a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual page of chronos or of one of its commands, in roff
    Man(manual::ManArgs),
}

/// Runs the process: its arguments, its clock, its standard output and error.
#[must_use]
pub fn main() -> ExitCode {
    let mut out = BufWriter::new(anstream::stdout().lock());
    let done = run(std::env::args_os(), clock::now(), &mut out)
        .and_then(|()| out.flush().map_err(Error::from));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // When standard error is gone too, the exit code says all that can be said.
            let _ = error.report(&mut anstream::stderr().lock());
            error.exit_code()
        }
    }
}

/// Does what the arguments ask for, at `now`, and writes the answer to `out`.
///
/// ```
/// use chronos_core::Timestamp;
///
/// let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
/// let mut out = Vec::new();
/// chronos_server::cli::run(["chronos", "next", "--every", "60", "-n", "1"], now, &mut out)?;
/// assert!(String::from_utf8_lossy(&out).contains("Sun 2026-11-15 12:01 +00:00"));
/// # Ok::<(), chronos_server::cli::Error>(())
/// ```
pub fn run<Args>(args: Args, now: Timestamp, out: &mut dyn Write) -> Result<(), Error>
where
    Args: IntoIterator<Item: Into<OsString> + Clone>,
{
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        // To clap, a request for help or for the version is an error too.
        Err(asked) if !asked.use_stderr() => {
            writeln!(out, "{}", asked.render().ansi().to_string().trim_end())?;
            return Ok(());
        }
        Err(wrong) => return Err(Error::Usage(wrong)),
    };
    match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Next(args) => next::run(&args, now, out),
        Command::Describe(args) => describe::run(&args, out),
        Command::Scheduler(args) => client::scheduler(args, now, out),
        Command::Jobs(args) => client::jobs(args, now, out),
        Command::Executions(args) => client::executions(args, now, out),
        Command::QuietHours(args) => client::quiet_hours(args, now, out),
        Command::Events(args) => client::events(args, out),
        Command::Audit(args) => client::audit(args, out),
        Command::Explain(args) => client::explain(args, out),
        Command::Preview(args) => client::preview(args, out),
        Command::Backfill(args) => client::backfill(args, out),
        Command::Backfills(args) => client::backfills(args, now, out),
        Command::History(args) => client::history(args, now, out),
        Command::Subscriptions(args) => client::subscriptions(args, now, out),
        Command::DeadLetters(args) => client::dead_letters(args, out),
        Command::Login(args) => client::login(&args, out),
        Command::Logout(args) => client::logout(&args, out),
        Command::Whoami(args) => client::whoami(&args, out),
        Command::Users(args) => client::users(args, out),
        Command::Keys(args) => client::keys(args, now, out),
        Command::Backup(args) => client::backup(args, now, out),
        Command::Restore(args) => restore::run(&args, out),
        Command::Migrate(args) => migrate::run(&args, out),
        Command::Config(args) => config::run(&args, out),
        Command::Completions(args) => manual::completions(&args, out),
        Command::Man(args) => manual::man(&args, out),
    }
}

fn write_json(value: &impl serde::Serialize, out: &mut dyn Write) -> Result<(), Error> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
