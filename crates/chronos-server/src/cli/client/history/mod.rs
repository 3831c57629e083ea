//! `chronos history`: what happened, finding it, having it made again, and what would be forgotten.

mod prune;
mod rebuild;
mod search;
mod show;

use std::io::Write;

use chronos_core::Timestamp;
use clap::Subcommand;

use super::{Ask, EXIT_CODES};
use crate::cli::Error;

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXIT_CODES,
    before_help = "Examples:
  chronos history show
  chronos history show week 2026-W46
  chronos history show month 2026-11 --tz Europe/Berlin
  chronos history search 'job:invoice status:failed \"connection reset\"'
  chronos history prune --dry-run"
)]
pub(in crate::cli) struct History {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what happened in an hour, a day, a week, a month or a year
    Show(show::Args),
    /// Find what happened by its words
    Search(search::Args),
    /// Have the history of a daemon made again from its store
    Rebuild(rebuild::Args),
    /// Forget what is no longer to be kept, or say what would go
    Prune(prune::Args),
}

pub(in crate::cli) fn history(
    args: History,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let History { ask, verb } = args;
    match verb {
        Verb::Show(args) => show::run(&ask, &args, now, out),
        Verb::Search(args) => search::run(&ask, &args, out),
        Verb::Rebuild(args) => rebuild::run(&ask, &args, out),
        Verb::Prune(args) => prune::run(&ask, &args, out),
    }
}
