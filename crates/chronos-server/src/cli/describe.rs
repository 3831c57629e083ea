//! `chronos describe`: a cron expression in words.

use std::io::Write;

use chronos_core::Schedule;
use chronos_core::schedule::Zone;
use serde::Serialize;

use super::{Error, args, write_json};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronos describe '0 9 * * 1-5' --tz Europe/Berlin")]
pub(super) struct Args {
    /// A cron expression of 5, 6 (second first) or 7 fields (year last), or @daily and its like
    expr: String,
    /// The time zone whose clocks the expression is read by
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = args::zone)]
    tz: Zone,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Description {
    description: String,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let schedule =
        Schedule::cron(&args.expr, args.tz).map_err(|error| Error::input("EXPR", &error))?;
    let description = schedule.describe();
    if args.json {
        return write_json(&Description { description }, out);
    }
    writeln!(out, "{description}")?;
    Ok(())
}
