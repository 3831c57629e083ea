//! The house: a daemon of the real binary on a free port, and an endpoint for its jobs to call.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::{command, texts};

pub(super) struct House {
    daemon: Child,
    address: String,
}

impl House {
    /// Starts a daemon that forgets, and waits until it says where it listens.
    pub(super) fn open() -> Self {
        Self::serving(&["--store", "memory"])
    }

    /// Starts a daemon that keeps its jobs in this directory.
    pub(super) fn over(data: &Path) -> Self {
        Self::serving(&["--store", "fjall", "--data-dir", data.to_str().unwrap()])
    }

    pub(super) fn serving(store: &[&str]) -> Self {
        let args = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log-format",
            "json",
            "--allow-target",
            "127.0.0.1",
        ];
        let mut daemon = command(&args).args(store).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(daemon.stderr.take().unwrap()).lines();
        let address = lines.by_ref().map(Result::unwrap).find_map(|line| {
            let line: Value = serde_json::from_str(&line).expect("a log line is JSON");
            (line["message"] == "Listening").then(|| line["address"].as_str().unwrap().to_owned())
        });
        // A pipe that nobody reads would stop the daemon when it is full.
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.expect("the daemon listens");
        Self { daemon, address }
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("CHRONOS_SERVER", &self.address);
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What is answered to a command that must do.
    pub(super) fn answer(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
        stdout
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.answer(&[args, &["--json"]].concat())).unwrap()
    }

    /// What is said to a command that must not do, and its exit code.
    pub(super) fn refusal(&self, args: &[&str]) -> (i32, String) {
        let output = self.output(args);
        let (_, stderr) = texts(&output);
        assert_eq!(stderr.matches('\n').count(), 1, "{args:?}: {stderr}");
        (output.status.code().unwrap(), stderr)
    }

    /// What an HTTP path of the daemon holds.
    pub(super) fn get(&self, path: &str) -> String {
        let mut stream = std::net::TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// An endpoint that answers requests with the statuses it was given, and says what it was sent.
pub(crate) struct Endpoint {
    address: SocketAddr,
    pub(crate) requests: std::sync::mpsc::Receiver<String>,
}

impl Endpoint {
    pub(crate) fn answering(status: &'static str) -> Self {
        Self::saying(status, b"ok")
    }

    /// The same with this body.
    pub(crate) fn saying(status: &'static str, said: &'static [u8]) -> Self {
        Self::of(&[], status, said)
    }

    /// Answers the first requests with these statuses, and all others with the last one.
    pub(crate) fn in_turn(first: &'static [&'static str], then: &'static str) -> Self {
        Self::of(first, then, b"ok")
    }

    fn of(first: &'static [&'static str], then: &'static str, said: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, requests) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut statuses = first.iter();
            for stream in listener.incoming() {
                let status = statuses.next().unwrap_or(&then);
                let mut stream = BufReader::new(stream.unwrap());
                let (mut request, mut length) = (String::new(), 0);
                while !request.ends_with("\r\n\r\n") {
                    let mut line = String::new();
                    if stream.read_line(&mut line).unwrap() == 0 {
                        break;
                    }
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    request.push_str(&line);
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).unwrap();
                request.push_str(&String::from_utf8(body).unwrap());
                let length = said.len();
                let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
                write!(stream.get_mut(), "{head}Content-Length: {length}\r\n\r\n").unwrap();
                stream.get_mut().write_all(said).unwrap();
                let _ = tell.send(request);
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }
}
