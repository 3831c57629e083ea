//! `chronos history rebuild`: the history of a daemon, made again from its store.

use std::io::Write;
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::super::confirm::Confirm;
use super::super::progress;
use super::super::rest::Rest;
use super::Ask;
use crate::cli::{Error, write_json};

/// Time between two looks at how far it has come.
const LOOK: Duration = Duration::from_millis(250);
/// Looks in which nothing moves before it is given up.
const STALLED: u32 = 480;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Return as soon as it has begun
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    confirm: Confirm,
}

pub(super) fn run(ask: &Ask, args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    args.confirm.check("making the history again")?;
    let question =
        "What the store no longer keeps will not be in the history any more. Make it again?";
    if !args.confirm.ask(question)? {
        writeln!(out, "Nothing was done")?;
        return Ok(());
    }
    let told = ask.daemon(async |daemon| {
        let begun = daemon.rest.post("/history/rebuild", &json!({})).await?;
        if args.no_wait { Ok(begun) } else { follow(&daemon.rest, begun).await }
    })?;
    if ask.json {
        return write_json(&told, out);
    }
    if args.no_wait {
        writeln!(out, "The history is being made again")?;
    } else {
        writeln!(out, "The history is made again: {} entries of the journal read", told["read"])?;
    }
    Ok(())
}

/// Waits until all that there was in the journal when it began was read and rolled up.
async fn follow(rest: &Rest, begun: Value) -> Result<Value, Error> {
    let end = begun["newest"].as_u64().unwrap_or_default();
    let template = "{msg} {wide_bar} {human_pos}/{human_len} ({eta})";
    let bar = progress::shown(ProgressBar::new(end), template);
    bar.set_message("Reading the journal");
    let (mut last, mut still) = ((0, String::new()), 0);
    loop {
        tokio::time::sleep(LOOK).await;
        let told = rest.get("/history").await?;
        let status = told["status"].as_str().unwrap_or_default();
        let read = told["read"].as_u64().unwrap_or_default();
        bar.set_position(read.min(end));
        if status == "refused" {
            let problem = told["problem"].as_str().unwrap_or_default();
            return Err(Error::Refused(format!("the history cannot be made again: {problem}")));
        }
        if status == "following" && read >= end {
            if told["to_roll_up"] == false {
                bar.finish_and_clear();
                return Ok(told);
            }
            // However long that takes: each period is told by itself.
            bar.set_message("Rolling up");
            continue;
        }
        still = if last == (read, status.to_owned()) { still + 1 } else { 0 };
        last = (read, status.to_owned());
        if still > STALLED {
            let problem = told["problem"].as_str().unwrap_or("it does not come forward");
            return Err(Error::Daemon(format!("the history is not made again yet: {problem}")));
        }
    }
}
