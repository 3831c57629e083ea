//! Passwords at a terminal, never shown, or from standard input.

use std::io::{self, IsTerminal};

use crate::cli::Error;

/// Where a password comes from.
#[derive(Debug, clap::Args)]
pub(super) struct PasswordFrom {
    /// Read the password from standard input, up to the end of its first line
    #[arg(long)]
    pub(super) password_stdin: bool,
}

impl PasswordFrom {
    /// A password that is known.
    pub(super) fn known(&self, prompt: &str) -> Result<String, Error> {
        if self.password_stdin {
            let mut line = String::new();
            io::stdin().read_line(&mut line)?;
            return Ok(line.trim_end_matches(['\n', '\r']).into());
        }
        if !io::stdin().is_terminal() {
            let problem = "needed where nobody can be asked for the password";
            return Err(Error::input("--password-stdin", &problem));
        }
        rpassword::prompt_password(format!("{prompt}: ")).map_err(Error::Machine)
    }

    /// A password that is made up, typed twice.
    pub(super) fn new_one(&self, prompt: &str) -> Result<String, Error> {
        let first = self.known(prompt)?;
        if !self.password_stdin && self.known("Again")? != first {
            return Err(Error::input("password", &"the two are not the same"));
        }
        Ok(first)
    }
}
