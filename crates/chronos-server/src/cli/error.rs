//! What goes wrong at the command line, in one line for the person who typed it.

use std::error::Error as _;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::daemon::Error as Daemon;
use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ErrorKind};

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments do not follow the grammar, or a value is not accepted.
    #[error("{}", usage(.0))]
    Usage(clap::Error),
    /// The arguments are well formed, but what they ask for does not exist.
    #[error("{field}: {problem}")]
    Input {
        /// The argument at fault.
        field: &'static str,
        /// What is wrong with it, and what is accepted.
        problem: String,
    },
    /// The daemon could not start or stop as it should.
    #[error(transparent)]
    Daemon(#[from] crate::daemon::Error),
    /// The machine does not give what a daemon needs.
    #[error("the machine refuses: {0}")]
    Machine(io::Error),
    /// The answer could not be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl Error {
    pub(super) fn input(field: &'static str, problem: &impl ToString) -> Self {
        Self::Input { field, problem: problem.to_string() }
    }

    /// 2 for what the caller can mend, 1 for what the machine must; a reader who has read enough
    /// is no failure.
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::Input { .. } | Self::Daemon(Daemon::NotLoopback(_)) => {
                ExitCode::from(2)
            }
            Self::Output(_) if self.is_closed_pipe() => ExitCode::SUCCESS,
            Self::Output(_) | Self::Daemon(_) | Self::Machine(_) => ExitCode::FAILURE,
        }
    }

    /// Tells the user, unless nobody listens any more.
    pub(super) fn report(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Output(_) if self.is_closed_pipe() => Ok(()),
            Self::Usage(error)
                if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
            {
                write!(out, "{}", error.render().ansi())
            }
            _ => writeln!(out, "{ERROR}error:{ERROR:#} {}", on_one_line(&self.to_string())),
        }
    }

    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// What clap has to say, without the usage that follows it.
fn usage(error: &clap::Error) -> String {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    if let (ErrorKind::ValueValidation, Some(argument), Some(problem)) =
        (error.kind(), &argument, error.source())
    {
        return format!("{}: {problem}", bare_name(argument));
    }
    let rendered = error.render().to_string();
    let paragraphs = rendered
        .strip_prefix("error: ")
        .unwrap_or(&rendered)
        .split("\n\n")
        .take_while(|text| !text.starts_with("Usage:") && !text.starts_with("For more"))
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut said: Vec<String> = paragraphs.collect();
    // The shell splits an expression that is not quoted, and puts file names for its stars.
    if error.kind() == ErrorKind::UnknownArgument && argument.is_some_and(|a| !a.starts_with('-')) {
        said.push("an expression needs quotes, as in chronos next '0 9 * * 1-5'".into());
    }
    said.join("; ")
}

/// `--tz` of `--tz <ZONE>`, and `EXPR` of `<EXPR>`.
fn bare_name(argument: &str) -> &str {
    let name = argument.split(' ').next().unwrap_or(argument);
    name.trim_matches(['<', '>', '[', ']'])
}

/// The text with line ends and other control characters spelt out: they may come from the input.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
