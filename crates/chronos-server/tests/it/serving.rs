//! A process that serves: the real binary over a directory that outlives it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::command;
use crate::daemon::soon;

/// A serving process and what it logs; killed when the test is over.
pub(crate) struct Serving {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The command line that serves this directory on a free port.
pub(crate) fn serve(data: &Path, extra: &[&str]) -> Command {
    let directory = data.display().to_string();
    let mut args = vec!["serve", "--data-dir", &directory, "--allow-target", "127.0.0.1"];
    if !extra.contains(&"--listen") {
        args.extend(["--listen", "127.0.0.1:0"]);
    }
    command(&[&args, extra].concat())
}

impl Serving {
    /// Starts this command line, without waiting for anything.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// Serves a directory, and waits until it says where it listens.
    pub(crate) async fn over(data: &Path, extra: &[&str]) -> (Self, SocketAddr) {
        let mut serving = Self::spawn(&mut serve(data, extra));
        let address = serving.listening().await;
        (serving, address)
    }

    /// Where it listens, once it says so.
    pub(crate) async fn listening(&mut self) -> SocketAddr {
        let line = self.line("Listening").await;
        let port = line.split("127.0.0.1:").nth(1).unwrap();
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        format!("127.0.0.1:{port}").parse().unwrap()
    }

    /// The first line from here on that says this.
    pub(crate) async fn line(&mut self, text: &str) -> String {
        soon(async {
            let mut seen = Vec::new();
            while let Some(line) = self.lines.recv().await {
                if line.contains(text) {
                    return line;
                }
                seen.push(line);
            }
            panic!("it ended without \"{text}\": {seen:#?}");
        })
        .await
    }

    /// Every line from here to the process's end.
    pub(crate) async fn rest_of_log(&mut self) -> String {
        soon(async {
            let mut log = String::new();
            while let Some(line) = self.lines.recv().await {
                log.push_str(&line);
                log.push('\n');
            }
            log
        })
        .await
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends the process as a power cut would end it, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The process's id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process is there.
    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The exit code, once the process is over.
    pub(crate) async fn code(&mut self) -> Option<i32> {
        soon(async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status.code();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }

    /// Asks the process to stop, which it must do in order.
    pub(crate) async fn stop(&mut self) {
        self.signal("TERM");
        assert_eq!(self.code().await, Some(0));
    }
}

/// Prints a line past the test harness, which would keep it to itself.
pub(crate) fn say(line: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
}
