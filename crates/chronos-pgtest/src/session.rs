//! A session of somebody else, who keeps locks and snapshots for as long as a test wants.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A session in a database; it ends with this value.
#[derive(Debug)]
pub struct Session {
    psql: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn open(bin: &Path, url: &str) -> io::Result<Self> {
        let mut command = Command::new(bin.join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]).arg(url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut psql = command.spawn()?;
        let (input, output) = (psql.stdin.take(), psql.stdout.take());
        let nothing = || io::Error::other("psql takes or gives nothing");
        let output = BufReader::new(output.ok_or_else(nothing)?);
        Ok(Self { input: input.ok_or_else(nothing)?, output, psql })
    }

    /// Runs statements to their end; gives back what they print.
    ///
    /// # Panics
    ///
    /// When the session is over.
    pub fn run(&mut self, statements: &str) -> String {
        self.begin(statements);
        self.end()
    }

    /// Begins statements, and does not wait for their end.
    ///
    /// # Panics
    ///
    /// When the session is over.
    pub fn begin(&mut self, statements: &str) {
        writeln!(self.input, "{statements};\n\\echo {END}")
            .and_then(|()| self.input.flush())
            .unwrap_or_else(|error| panic!("the session is over: {error}"));
    }

    /// Waits for the end of what was begun; gives back what it prints.
    ///
    /// # Panics
    ///
    /// When the session is over.
    pub fn end(&mut self) -> String {
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            assert!(read.is_ok_and(|read| read > 0), "the session is over: {printed}");
            if line.trim() == END {
                return printed.trim().to_owned();
            }
            printed.push_str(&line);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.psql.kill());
        drop(self.psql.wait());
    }
}

/// Printed after the statements of each call.
const END: &str = "end-of-statements";
