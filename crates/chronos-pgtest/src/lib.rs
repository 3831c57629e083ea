//! Private PostgreSQL clusters for tests: started in a moment, gone with the process that asked.
//!
//! A cluster listens on a Unix socket in a directory of its own, so that no port is ever taken. It runs
//! as the user of the test, or as an unprivileged one where that user is root, because PostgreSQL
//! refuses to run as root. A watchdog stops it and removes its files when the test process ends, in
//! whichever way that happens.

mod binaries;
mod pooler;
mod session;
mod user;

use std::fs::Permissions;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

pub use binaries::binaries;
pub use pooler::Pooler;
pub use session::Session;
use user::User;

/// How a cluster treats the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Nothing is synced: quick, and gone with a crash of the machine, which no test outlives.
    Volatile,
    /// Every commit is synced, as in production.
    Durable,
}

/// How a cluster is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Sessions are ended, everything is written.
    Fast,
    /// At once, on request: the next start recovers.
    Immediate,
    /// As by a power cut: the server is killed and says nothing to anyone.
    Killed,
}

/// A running PostgreSQL cluster that nobody else knows of.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    user: User,
    bin: PathBuf,
    durability: Durability,
    /// Further options of the server.
    options: String,
    names: AtomicU32,
    /// Once closed, the watchdog cleans up.
    leash: Mutex<Option<(Child, ChildStdin)>>,
}

impl Cluster {
    /// The cluster that the tests of this process share; nothing in it is synced.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(Durability::Volatile))
    }

    /// Starts a cluster.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL on this machine, or it does not start.
    #[must_use]
    pub fn start(durability: Durability) -> Self {
        Self::try_start(durability, None)
            .unwrap_or_else(|error| panic!("a private PostgreSQL cluster does not start: {error}"))
    }

    /// Starts a cluster that also listens on this port of 127.0.0.1, where it shows a certificate; both it
    /// and its key in PEM. Nothing in it is synced.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL on this machine, or it does not start.
    #[must_use]
    pub fn encrypted(port: u16, certificate: &str, key: &str) -> Self {
        Self::try_start(Durability::Volatile, Some((port, certificate, key)))
            .unwrap_or_else(|error| panic!("a private PostgreSQL cluster does not start: {error}"))
    }

    fn try_start(durability: Durability, shown: Option<(u16, &str, &str)>) -> io::Result<Self> {
        let (bin, user) = (binaries()?, User::unprivileged()?);
        let directory = TempDir::with_prefix("chronos-pg-")?.keep();
        user.own(&directory)?;
        let leash = Mutex::new(Some(watchdog(&user, &bin, &directory)?));
        let names = AtomicU32::new(0);
        let options = String::new();
        let mut cluster = Self { directory, user, bin, durability, options, names, leash };
        cluster.initialise()?;
        if let Some((port, certificate, key)) = shown {
            cluster.options = cluster.show(port, certificate, key)?;
        }
        cluster.serve()?;
        Ok(cluster)
    }

    fn initialise(&self) -> io::Result<()> {
        let mut initdb = self.user.command(&self.bin.join("initdb"));
        initdb.args(["--username=postgres", "--auth=trust", "--no-sync", "--no-instructions"]);
        initdb.args(["--encoding=UTF8", "--locale=C"]).arg("--pgdata").arg(self.data());
        run(&mut initdb)
    }

    /// Files a certificate and its key; gives back the options with which the server shows it.
    fn show(&self, port: u16, certificate: &str, key: &str) -> io::Result<String> {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.data().join(name);
            std::fs::write(&path, text)?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            self.user.own(&path)?;
        }
        Ok(format!(" -c listen_addresses=127.0.0.1 -c port={port} -c ssl=on"))
    }

    fn serve(&self) -> io::Result<()> {
        let socket = self.directory.display();
        let mut options = format!(
            "-c listen_addresses= -c unix_socket_directories={socket} -c max_connections=400 \
             -c shared_buffers=128MB -c max_wal_size=2GB"
        );
        if self.durability == Durability::Volatile {
            options.push_str(" -c fsync=off -c full_page_writes=off");
        }
        options.push_str(&self.options);
        let mut start = self.pg_ctl("start");
        start.arg("--log").arg(self.directory.join("log")).args(["--wait", "--options", &options]);
        run(&mut start)
    }

    /// Starts the cluster again after [`Self::stop`].
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start_again(&self) {
        // Whoever outlives a killed server for a moment keeps the next one from starting.
        let mut tries = 0;
        while let Err(error) = self.serve() {
            assert!(tries < 50, "the cluster does not start again: {error}");
            tries += 1;
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    /// Stops the cluster; its data stay.
    ///
    /// # Panics
    ///
    /// When it does not stop.
    pub fn stop(&self, how: Stop) {
        let stopped = match how {
            Stop::Fast => run(self.pg_ctl("stop").args(["--mode=fast", "--wait"])),
            Stop::Immediate => run(self.pg_ctl("stop").args(["--mode=immediate", "--wait"])),
            Stop::Killed => self.kill(),
        };
        stopped.unwrap_or_else(|error| panic!("the cluster does not stop: {error}"));
    }

    /// Kills the first process of the server, which the others do not outlive.
    fn kill(&self) -> io::Result<()> {
        let file = self.data().join("postmaster.pid");
        let first = std::fs::read_to_string(&file)?;
        let id = first.lines().next().unwrap_or_default();
        run(self.user.command(Path::new("kill")).args(["-9", id]))
    }

    /// The address of a database of the cluster.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let host = self.directory.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}/{database}")
    }

    /// A name that nobody else in this process gets, fit for a schema or a database.
    #[must_use]
    pub fn fresh_name(&self) -> String {
        format!("test_{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs statements in a database of the cluster, as its superuser, and gives back what they print.
    ///
    /// # Panics
    ///
    /// When a statement fails.
    pub fn psql(&self, database: &str, statements: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set=ON_ERROR_STOP=1", "--command", statements]).arg(self.url(database));
        let output = psql.output().unwrap_or_else(|error| panic!("psql does not start: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A session of somebody else in a database of the cluster.
    ///
    /// # Panics
    ///
    /// When it cannot be had.
    #[must_use]
    pub fn session(&self, database: &str) -> Session {
        Session::open(&self.bin, &self.url(database))
            .unwrap_or_else(|error| panic!("psql does not start: {error}"))
    }

    /// The directory of the cluster's data, log and socket.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn pg_ctl(&self, verb: &str) -> Command {
        let mut command = self.user.command(&self.bin.join("pg_ctl"));
        command.arg(verb).arg("--pgdata").arg(self.data());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let leash = self.leash.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((mut watchdog, leash)) = leash {
            drop(leash);
            drop(watchdog.wait());
        }
    }
}

/// A process that waits for the end of its input, which is the end of this process at the latest, then
/// stops the cluster and removes its files. It leads a session of its own, so that an interrupt from
/// the keyboard does not reach it.
fn watchdog(user: &User, bin: &Path, directory: &Path) -> io::Result<(Child, ChildStdin)> {
    let script = r#"trap '' INT TERM HUP; read -r _
"$1/pg_ctl" stop --silent --mode=immediate --pgdata "$2/data" >/dev/null 2>&1
rm -rf "$2""#;
    let mut command = user.command(Path::new("setsid"));
    command.args(["sh", "-c", script, "watchdog"]).arg(bin).arg(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let leash = child.stdin.take().ok_or_else(|| io::Error::other("the watchdog has no leash"))?;
    Ok((child, leash))
}

/// Runs a command to its end; an error says what it printed.
fn run(command: &mut Command) -> io::Result<()> {
    // The server inherits what `pg_ctl` prints to, so waiting for the end of a pipe would never end.
    let mut printed = tempfile::tempfile()?;
    let (out, err) = (printed.try_clone()?, printed.try_clone()?);
    let status = command.stdin(Stdio::null()).stdout(out).stderr(err).status()?;
    if status.success() {
        return Ok(());
    }
    io::Seek::rewind(&mut printed)?;
    let mut text = String::new();
    printed.read_to_string(&mut text)?;
    Err(io::Error::other(format!("{command:?} failed with {status}: {text}")))
}
