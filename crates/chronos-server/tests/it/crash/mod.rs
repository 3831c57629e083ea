//! Kills: a daemon that is killed at any instant, again and again, keeps what it promised.

mod accounts;
pub(crate) mod backfilling;
mod clients;
pub(crate) mod endpoint;
mod faults;
mod noticing;
mod recording;
pub(crate) mod rekeying;
mod restart;
mod specs;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_engine::{Clock, SystemClock};
use chronos_server::proto::CreateJobRequest;
use fastrand::Rng;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::daemon::soon;
use crate::serving::{Serving, say, serve};
use accounts::Accounts;
use clients::{Client, Known, Learned};
use endpoint::Endpoint;
use specs::{Rhythm, saying, spec};

/// Jobs that fire every second and are changed by nobody.
const LOAD: usize = 72;
/// Jobs among them that say something instead of calling somebody.
const SAYING: usize = 12;
const CLIENTS: usize = 8;
/// Kept of every job, so that the whole past can be looked at; the compaction runs under load too.
const SERVE: [&str; 10] = [
    "--history-per-job",
    "1000000",
    "--compaction-cron",
    "*/3 * * * * *",
    "--compaction-jitter-secs",
    "0",
    "--shutdown-timeout-secs",
    "5",
    "--log",
    "info,chronos_engine=warn",
];

/// Where the daemon listens, while it does.
#[derive(Clone)]
pub(crate) struct Whereabouts(watch::Receiver<Option<SocketAddr>>);

/// When a process was killed: between these instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_at_random_loses_nothing_and_doubles_nothing() {
    let setting = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let kills = setting("CHRONOS_CRASH_KILLS").unwrap_or(5);
    let seed = setting("CHRONOS_CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    say(&format!("{kills} kills; replay the dice with CHRONOS_CRASH_SEED={seed}"));
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut crash = Crash::begin(&data, seed).await;
    for _ in 0..kills {
        crash.kill_at_random().await;
        crash.restart().await;
    }
    let (kills, learned, endpoint, stopped_at) = crash.end().await;
    let accounts = Accounts::read(&data, kills, stopped_at).await;
    say(&accounts.check(&learned, &endpoint.calls()));
}

/// The test while it goes on: a daemon, its clients, and the endpoint that its jobs call.
struct Crash<'a> {
    data: &'a Path,
    dice: Rng,
    daemon: Serving,
    whereabouts: watch::Sender<Option<SocketAddr>>,
    endpoint: Endpoint,
    clients: JoinSet<Learned>,
    stop: Arc<AtomicBool>,
    load: Learned,
    kills: Vec<Kill>,
}

impl<'a> Crash<'a> {
    /// Starts a daemon on a directory that nobody used before, with a load of jobs and with clients.
    async fn begin(data: &'a Path, seed: u64) -> Self {
        let (daemon, address) = Serving::over(data, &SERVE).await;
        let mut crash = Self {
            data,
            dice: Rng::with_seed(seed),
            daemon,
            whereabouts: watch::Sender::new(Some(address)),
            endpoint: Endpoint::open().await,
            clients: JoinSet::new(),
            stop: Arc::default(),
            load: Learned::default(),
            kills: Vec::new(),
        };
        crash.create_load().await;
        for number in 0..CLIENTS {
            let client = Client {
                number,
                dice: crash.dice.fork(),
                daemon: Whereabouts(crash.whereabouts.subscribe()),
                endpoint: crash.endpoint.clone(),
                stop: crash.stop.clone(),
                learned: Learned::default(),
            };
            crash.clients.spawn(client.run());
        }
        crash
    }

    async fn create_load(&mut self) {
        let mut daemon = Whereabouts(self.whereabouts.subscribe()).client().await;
        for number in 0..LOAD + SAYING {
            let (name, rhythm) = (format!("load {number}"), Rhythm::Every(1));
            // Each combination of policies meets each kind of answer.
            let url = self.endpoint.url(["ok", "slow", "flaky"][number / 24 % 3]);
            let spec = spec(&name, number, rhythm, 1, &url);
            let spec = Some(if number < LOAD { spec } else { saying(spec) });
            let job = soon(daemon.create_job(CreateJobRequest { spec })).await.unwrap();
            let id = job.into_inner().id.parse().unwrap();
            let (version, note, deleted, runs) = (1, None, false, Vec::new());
            self.load.jobs.push(Known { id, name, number, rhythm, version, note, deleted, runs });
        }
    }

    async fn kill_at_random(&mut self) {
        tokio::time::sleep(Duration::from_millis(self.dice.u64(20..1_500))).await;
        self.kill();
    }

    fn kill(&mut self) {
        self.whereabouts.send_replace(None);
        let clock = SystemClock::new();
        let from = clock.now();
        self.daemon.kill();
        self.kills.push(Kill { from, to: clock.now() });
    }

    /// Starts the daemon again at once. One start in four is killed too, whatever it is at.
    async fn restart(&mut self) {
        while self.dice.u8(..4) == 0 {
            self.daemon = Serving::spawn(&mut serve(self.data, &SERVE));
            tokio::time::sleep(Duration::from_millis(self.dice.u64(..150))).await;
            self.kill();
        }
        let (daemon, address) = Serving::over(self.data, &SERVE).await;
        self.daemon = daemon;
        self.whereabouts.send_replace(Some(address));
    }

    /// Stops everyone in order, the clients first.
    async fn end(mut self) -> (Vec<Kill>, Learned, Endpoint, Timestamp) {
        // What was lost last gets its next attempt, and the clients their answers.
        tokio::time::sleep(Duration::from_secs(2)).await;
        self.stop.store(true, Ordering::SeqCst);
        let mut learned = self.load;
        while let Some(client) = soon(self.clients.join_next()).await {
            let client = client.unwrap();
            learned.jobs.extend(client.jobs);
            learned.acknowledged += client.acknowledged;
            learned.in_doubt += client.in_doubt;
        }
        let stopped_at = SystemClock::new().now();
        self.daemon.stop().await;
        (self.kills, learned, self.endpoint, stopped_at)
    }
}
