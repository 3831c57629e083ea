//! Asking before what does not come back, or touches much.

use std::io::{self, IsTerminal, Write};

use crate::cli::Error;

/// Whether to ask at all.
#[derive(Debug, clap::Args)]
pub(super) struct Confirm {
    /// Do not ask first
    #[arg(long, short)]
    yes: bool,
}

impl Confirm {
    /// Refuses where nobody can be asked and nobody said yes; says what would be asked about.
    pub(super) fn check(&self, what: &str) -> Result<(), Error> {
        let asking = io::stdin().is_terminal() && io::stderr().is_terminal();
        if self.yes || asking {
            return Ok(());
        }
        Err(Error::input("--yes", &format!("needed where nobody can be asked: {what}")))
    }

    /// Asks on the terminal unless the answer was given; anything but a yes is a no.
    pub(super) fn ask(&self, question: &str) -> Result<bool, Error> {
        if self.yes {
            return Ok(true);
        }
        let mut terminal = anstream::stderr().lock();
        write!(terminal, "{question} [y/N] ")?;
        terminal.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}
