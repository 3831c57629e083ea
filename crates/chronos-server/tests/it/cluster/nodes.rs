//! The nodes of a cluster, the database that they share, and the jobs that they run.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronos_core::{Execution, JobId, Store};
use chronos_pgtest::Cluster;
use chronos_server::proto::catch_up_policy::{self, Kind as CatchUp};
use chronos_server::proto::overlap_policy::{self, Kind as Overlap};
use chronos_server::proto::schedule::Cadence;
use chronos_server::proto::target::Kind as Target;
use chronos_server::proto::{
    self, CatchUpPolicy, CreateJobRequest, Cron, Http, JobSpec, OverlapPolicy, RunJobRequest,
    Schedule,
};
use chronos_store::{PostgresConfig, PostgresStore};
use tempfile::TempDir;

use crate::command;
use crate::daemon::house::{client, get};
use crate::daemon::soon;
use crate::serving::Serving;

/// How long a lease holds in these tests; renewed every second.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// A database of its own in a cluster of PostgreSQL.
pub(crate) struct Database<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) name: String,
    /// The way to it, if it is not the usual one.
    pub(crate) through: Option<String>,
    /// Where nodes keep what nobody else may read.
    private: TempDir,
}

impl<'a> Database<'a> {
    pub(crate) fn fresh(cluster: &'a Cluster) -> Self {
        let name = cluster.fresh_name();
        cluster.psql("postgres", &format!("CREATE DATABASE {name}"));
        let private = tempfile::tempdir().unwrap();
        Self { cluster, name, through: None, private }
    }

    pub(crate) fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    pub(crate) fn psql(&self, statements: &str) -> String {
        self.cluster.psql(&self.name, statements)
    }

    /// The same database, which nodes reach at this address.
    pub(crate) fn through(self, url: String) -> Self {
        Self { through: Some(url), ..self }
    }

    /// The names of the nodes that wait for somebody else's lock on a table.
    pub(crate) fn blocked_at(&self, table: &str) -> Vec<String> {
        let names = self.psql(&format!(
            "SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database() \
             AND wait_event_type = 'Lock' AND query LIKE '%chronos.{table}%'"
        ));
        names.lines().map(String::from).collect()
    }

    /// The command line of a node on this database, which knows it by the node's name.
    pub(crate) fn command(&self, name: &str, extra: &[&str]) -> Command {
        let data = self.private.path().join(name).display().to_string();
        let args = ["serve", "--listen", "127.0.0.1:0", "--node", name, "--data-dir", &data];
        let mut command = command(&[&args[..], extra].concat());
        for (key, seconds) in [("LEASE", "3"), ("HEARTBEAT", "1"), ("SHUTDOWN_TIMEOUT", "5")] {
            command.env(format!("CHRONOS_{key}_SECS"), seconds);
        }
        command.env("CHRONOS_ALLOW_TARGETS", "127.0.0.1");
        let url = self.through.clone().unwrap_or_else(|| self.url());
        command.env("CHRONOS_DATABASE_URL", format!("{url}?application_name={name}"));
        command
    }

    pub(crate) async fn node(&self, name: &str, extra: &[&str]) -> Node {
        Node::start(name, &mut self.command(name, extra)).await
    }

    /// Nodes that do everything, called a, b, c and so on.
    pub(crate) async fn nodes(&self, number: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        for name in ["a", "b", "c"].into_iter().take(number) {
            nodes.push(self.node(name, &[]).await);
        }
        nodes
    }

    /// Where a node keeps what nobody else may read.
    pub(crate) fn data_of(&self, node: &str) -> PathBuf {
        self.private.path().join(node)
    }

    /// A file with a key of this byte, for its owner alone to read.
    pub(crate) fn key(&self, name: &str, byte: u8) -> String {
        let path = self.private.path().join(name);
        fs::write(&path, STANDARD.encode([byte; 32])).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }

    /// The store, as one more node sees it.
    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::open(PostgresConfig::new(&self.url())).await.unwrap()
    }
}

/// A process that serves.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) process: Serving,
    pub(crate) address: SocketAddr,
}

impl Node {
    /// Starts a command line, and waits until it says where it listens.
    pub(crate) async fn start(name: &str, command: &mut Command) -> Self {
        let mut process = Serving::spawn(command);
        let address = process.listening().await;
        Self { name: name.into(), process, address }
    }

    pub(crate) async fn create(&self, spec: JobSpec) -> JobId {
        let request = CreateJobRequest { spec: Some(spec) };
        let job = soon(client(self.address).await.create_job(request)).await.unwrap();
        job.into_inner().id.parse().unwrap()
    }

    /// Runs a job by hand; gives back the execution's id.
    pub(crate) async fn run(&self, job: &str) -> chronos_core::ExecutionId {
        let request = RunJobRequest { job: job.into() };
        let run = soon(client(self.address).await.run_job(request)).await.unwrap();
        run.into_inner().id.parse().unwrap()
    }

    /// A figure of its metrics.
    pub(crate) async fn figure(&self, name: &str) -> f64 {
        let (code, page) = get(self.address, "/metrics").await;
        assert_eq!(code, 200, "{page}");
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}: {page}")).parse().unwrap()
    }
}

/// A job that calls this endpoint every second and catches up on what it missed.
pub(crate) fn every_second(name: &str, url: &str) -> JobSpec {
    let cron = Cron { expression: "* * * * * *".into(), timezone: String::new() };
    job(name, url, Schedule { cadence: Some(Cadence::Cron(cron)), ..Schedule::default() })
}

/// A job that calls this endpoint every second unless a run of it is still alive, and leaves missed slots be.
pub(crate) fn alone(name: &str, url: &str) -> JobSpec {
    JobSpec { overlap_policy: None, catch_up_policy: None, ..every_second(name, url) }
}

/// A job that calls this endpoint when it is run by hand.
pub(crate) fn by_hand(name: &str, url: &str) -> JobSpec {
    let never = prost_types::Timestamp { seconds: 221_845_392_000, nanos: 0 };
    job(name, url, Schedule { cadence: Some(Cadence::OneShot(never)), ..Schedule::default() })
}

pub(crate) fn job(name: &str, url: &str, schedule: Schedule) -> JobSpec {
    let http = Http { url: url.into(), ..Http::default() };
    let every_slot = catch_up_policy::RunAllCapped { catch_up_max: 100 };
    let together = overlap_policy::Concurrent { max_concurrent: 0 };
    let recurs = matches!(schedule.cadence, Some(Cadence::Cron(_)));
    JobSpec {
        name: name.into(),
        schedule: Some(schedule),
        target: Some(proto::Target { kind: Some(Target::Http(http)) }),
        overlap_policy: Some(OverlapPolicy { kind: Some(Overlap::Concurrent(together)) }),
        catch_up_policy: recurs
            .then_some(CatchUpPolicy { kind: Some(CatchUp::RunAllCapped(every_slot)) }),
        ..JobSpec::default()
    }
}

/// What the store gives, once it is what the test waits for.
pub(crate) async fn until<T>(
    store: &PostgresStore,
    look: impl AsyncFn(&PostgresStore) -> Option<T>,
) -> T {
    soon(async {
        loop {
            if let Some(found) = look(store).await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

/// Waits until each of these jobs has had as many more runs that succeeded.
pub(crate) async fn have_run(store: &PostgresStore, jobs: &[JobId], more: u64) {
    let succeeded = async |store: &PostgresStore, job: JobId| {
        store.job(job).await.ok().map(|job| job.standing.tally.succeeded)
    };
    let mut goals = Vec::new();
    for job in jobs {
        let now = until(store, async |store| succeeded(store, *job).await).await;
        goals.push((*job, now + more));
    }
    for (job, goal) in goals {
        until(store, async |store| {
            succeeded(store, job).await.filter(|succeeded| *succeeded >= goal)
        })
        .await;
    }
}

/// Waits until a node answers this to whoever asks whether it is ready; gives back what it tells.
pub(crate) async fn until_ready_is(code: u16, node: &Node) -> String {
    soon(async {
        loop {
            let (answered, told) = get(node.address, "/readyz").await;
            if answered == code {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

/// The newest executions of a job, the newest first.
pub(crate) async fn executions(store: &PostgresStore, job: JobId) -> Vec<Execution> {
    store.executions(job, None, 10_000).await.unwrap()
}
