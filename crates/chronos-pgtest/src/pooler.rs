//! A private PgBouncer in transaction mode before a private cluster.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::{env, fs, thread};

use crate::{Cluster, User};

/// The port in the name of its socket; no port of the machine is taken.
const PORT: u16 = 6432;

/// A running PgBouncer in transaction mode, which hands few connections to many clients.
#[derive(Debug)]
pub struct Pooler {
    directory: PathBuf,
    /// Once closed, it ends.
    leash: Option<(Child, ChildStdin)>,
}

impl Pooler {
    /// Starts one before a cluster, with so many connections to each of its databases.
    ///
    /// # Panics
    ///
    /// When there is no PgBouncer on this machine, or it does not start.
    #[must_use]
    pub fn start(cluster: &Cluster, connections: u32) -> Self {
        Self::try_start(cluster, connections)
            .unwrap_or_else(|error| panic!("a private PgBouncer does not start: {error}"))
    }

    fn try_start(cluster: &Cluster, connections: u32) -> io::Result<Self> {
        let program = program()?;
        let directory = cluster.directory.join(cluster.fresh_name());
        fs::create_dir(&directory)?;
        let settings = directory.join("pgbouncer.ini");
        let (server, own) = (cluster.directory.display(), directory.display());
        // With `auth_type = any` everyone is who the line of the database names.
        let text = format!(
            "[databases]\n* = user=postgres host={server}\n\n[pgbouncer]\npool_mode = transaction\n\
             default_pool_size = {connections}\nmax_client_conn = 500\nauth_type = any\n\
             unix_socket_dir = {own}\nlisten_addr =\nlisten_port = {PORT}\n"
        );
        fs::write(&settings, text)?;
        cluster.user.own(&directory)?;
        let leash = Some(leash(cluster.user, &program, &settings)?);
        let pooler = Self { directory, leash };
        pooler.wait()?;
        Ok(pooler)
    }

    fn wait(&self) -> io::Result<()> {
        let socket = self.directory.join(format!(".s.PGSQL.{PORT}"));
        for _ in 0..200 {
            if socket.exists() {
                return Ok(());
            }
            thread::sleep(std::time::Duration::from_millis(25));
        }
        Err(io::Error::other("it makes no socket"))
    }

    /// The address of a database behind it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let host = self.directory.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}:{PORT}/{database}")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        if let Some((mut child, leash)) = self.leash.take() {
            drop(leash);
            drop(child.wait());
        }
    }
}

/// The program: the one that `CHRONOS_PGBOUNCER` names, or the installed one.
fn program() -> io::Result<PathBuf> {
    if let Some(named) = env::var_os("CHRONOS_PGBOUNCER") {
        return Ok(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut programs = directories.map(|directory| directory.join("pgbouncer"));
    programs.find(|program| program.exists()).ok_or_else(|| {
        let text = "there is no PgBouncer on this machine; run `make postgres`, or name the program in \
                    CHRONOS_PGBOUNCER";
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

/// PgBouncer, which ends with its input, which is the end of this process at the latest.
fn leash(user: User, program: &Path, settings: &Path) -> io::Result<(Child, ChildStdin)> {
    let script = r#"trap '' INT TERM HUP; "$1" -q "$2" & read -r _; kill -9 $!"#;
    let mut command = user.command(Path::new("setsid"));
    command.args(["sh", "-c", script, "pooler"]).arg(program).arg(settings);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let leash = child.stdin.take().ok_or_else(|| io::Error::other("it has no leash"))?;
    Ok((child, leash))
}
