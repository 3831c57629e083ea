//! Whom a cluster runs as: PostgreSQL refuses to run as root.

use std::io;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

/// The user that a cluster runs as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Own,
    /// Another one, because whoever runs the tests is root.
    Other { uid: u32, gid: u32 },
}

impl User {
    pub(crate) fn unprivileged() -> io::Result<Self> {
        if id(&["-u"])? != 0 {
            return Ok(Self::Own);
        }
        let of = |name: &str| Ok(Self::Other { uid: id(&["-u", name])?, gid: id(&["-g", name])? });
        of("postgres").or_else(|_: io::Error| of("nobody"))
    }

    /// A command that this user runs.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = match self {
            Self::Own => Command::new(program),
            Self::Other { uid, gid } => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={uid}")).arg(format!("--regid={gid}"));
                command.arg("--clear-groups").arg("--").arg(program);
                command
            }
        };
        // The directory of the tests may be closed to that user.
        command.current_dir("/").env("LC_ALL", "C");
        command
    }

    pub(crate) fn own(self, directory: &Path) -> io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid } => chown(directory, Some(uid), Some(gid)),
        }
    }
}

fn id(arguments: &[&str]) -> io::Result<u32> {
    let output = Command::new("id").args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let unknown = || io::Error::other(format!("`id {}` names no user", arguments.join(" ")));
    text.trim().parse().map_err(|_| unknown())
}
