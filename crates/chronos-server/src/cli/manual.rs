//! `chronos completions` and `chronos man`: the grammar, for shells and for readers.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Error, VERSION};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  source <(chronos completions bash)")]
pub(super) struct CompletionsArgs {
    /// The shell that will read the script
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  chronos man next | man -l -")]
pub(super) struct ManArgs {
    /// The command to explain; all of chronos when left out
    command: Option<String>,
}

pub(super) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), Error> {
    // The generator panics when it cannot write, and a buffer can always be written.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "chronos", &mut script);
    out.write_all(&script)?;
    Ok(())
}

pub(super) fn man(args: &ManArgs, mut out: &mut dyn Write) -> Result<(), Error> {
    let mut chronos = Cli::command();
    // Names the page of a command "chronos-next" instead of "next".
    chronos.build();
    let command = match &args.command {
        None => chronos,
        Some(name) => chronos.find_subcommand(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = chronos.get_subcommands().map(clap::Command::get_name).collect();
            let known = known.join(", ");
            Error::input("COMMAND", &format!("unknown command \"{name}\"; use one of {known}"))
        })?,
    };
    let page = Man::new(command).source(format!("chronos {}", *VERSION));
    page.render(&mut out)?;
    Ok(())
}
