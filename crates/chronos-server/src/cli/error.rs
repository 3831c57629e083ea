//! What goes wrong at the command line, in one line for the person who typed it.

use std::error::Error as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ErrorKind};

use crate::text::on_one_line;
use crate::{config, daemon, logs};

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
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// No daemon answers.
    #[error(
        "no daemon answers at {address}: {cause}; start one with chronos serve, or name another \
         with --server URL or CHRONOS_SERVER"
    )]
    Unreachable {
        /// Where it was looked for.
        address: String,
        /// What came instead of an answer.
        cause: String,
    },
    /// The daemon does not accept a value.
    #[error("{0}")]
    Rejected(String),
    /// The daemon knows no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The daemon refuses as things stand; later it may not.
    #[error("{0}")]
    Refused(String),
    /// The daemon does not know who asks, or does not let them.
    #[error("{0}")]
    Denied(String),
    /// The daemon failed, or does not answer as one should.
    #[error("{0}")]
    Daemon(String),
    /// The run that was followed did not succeed.
    #[error("{0}")]
    RunFailed(String),
    /// An error, and what to do about it.
    #[error("{0}; {1}")]
    Advised(Box<Error>, String),
    /// A file could not be written or read.
    #[error("{}: {problem}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The daemon could not start or stop as it should.
    #[error(transparent)]
    Serve(#[from] daemon::Error),
    /// The machine does not give what a daemon needs.
    #[error("the machine refuses: {0}")]
    Machine(io::Error),
    /// There is no log.
    #[error(transparent)]
    Log(#[from] logs::Error),
    /// The answer could not be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl Error {
    pub(super) fn input(field: &'static str, problem: &impl ToString) -> Self {
        Self::Input { field, problem: problem.to_string() }
    }

    /// The same error with more to say.
    pub(super) fn and(self, more: String) -> Self {
        Self::Advised(Box::new(self), more)
    }

    /// What scripts can go by; a reader who has read enough is no failure.
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Output(_) if self.is_closed_pipe() => ExitCode::SUCCESS,
            Self::Advised(error, _) => error.exit_code(),
            Self::Serve(daemon::Error::NotLoopback(_)) => ExitCode::from(2),
            Self::Output(_)
            | Self::Daemon(_)
            | Self::File { .. }
            | Self::Serve(_)
            | Self::Machine(_)
            | Self::Log(_) => ExitCode::FAILURE,
            Self::Usage(_) | Self::Input { .. } | Self::Config(_) | Self::Rejected(_) => {
                ExitCode::from(2)
            }
            Self::RunFailed(_) => ExitCode::from(3),
            Self::NotFound(_) => ExitCode::from(4),
            Self::Refused(_) => ExitCode::from(5),
            // EX_UNAVAILABLE and EX_NOPERM of sysexits.h.
            Self::Unreachable { .. } => ExitCode::from(69),
            Self::Denied(_) => ExitCode::from(77),
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
