//! Everything that fails, at random: a few seconds in every run of the tests, minutes on demand.

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use chronos_engine::{Clock, SystemClock};
use chronos_pgtest::{Cluster, Durability, Stop};
use fastrand::Rng;

use super::load::{background, settle};
use super::nodes::{Database, LEASE, Node};
use super::proxy::Proxy;
use crate::crash::endpoint::Endpoint;
use crate::daemon::house::get;
use crate::daemon::soon;
use crate::serving::say;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A cluster and what can be done to it.
struct Stage<'a> {
    database: Database<'a>,
    proxy: Proxy,
    nodes: Vec<Node>,
    rng: Rng,
    done: BTreeMap<&'static str, u32>,
}

impl Stage<'_> {
    fn a_while(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.rng.f64())
    }

    /// Lets something fail and, where it does not mend itself, mends it.
    async fn fail(&mut self) {
        let place = self.rng.usize(..NAMES.len());
        // Shorter and longer than a lease.
        let pause = self.a_while(2 * LEASE);
        let fault = match self.rng.u32(..7) {
            0 | 1 => {
                self.nodes[place].process.kill();
                tokio::time::sleep(pause / 4).await;
                self.nodes[place] = self.database.node(NAMES[place], &[]).await;
                "kills"
            }
            2 => {
                self.nodes[place].process.signal("STOP");
                tokio::time::sleep(pause).await;
                self.nodes[place].process.signal("CONT");
                "freezes"
            }
            3 => {
                self.proxy.cut();
                tokio::time::sleep(pause).await;
                self.proxy.mend();
                "cuts"
            }
            4 => {
                self.proxy.tear();
                tokio::time::sleep(pause).await;
                self.proxy.mend();
                "tears"
            }
            5 => {
                let how = [Stop::Fast, Stop::Immediate, Stop::Killed][self.rng.usize(..3)];
                self.database.cluster.stop(how);
                tokio::time::sleep(pause / 2).await;
                self.database.cluster.start_again();
                "restarts of the database"
            }
            _ => {
                self.database.psql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE application_name IN ('a', 'b', 'c') AND random() < 0.5",
                );
                "ended sessions"
            }
        };
        *self.done.entry(fault).or_default() += 1;
    }

    async fn calm_down(&self) {
        soon(async {
            for node in &self.nodes {
                while get(node.address, "/readyz").await.0 != 200 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        })
        .await;
    }
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a whole number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_no_slot_is_lost_or_doubled() {
    let seed = number("CHRONOS_CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..));
    let seconds = number("CHRONOS_CHAOS_SECONDS").unwrap_or(15);
    say(&format!("CHRONOS_CHAOS_SEED={seed} CHRONOS_CHAOS_SECONDS={seconds}"));
    let (cluster, endpoint) = (Cluster::start(Durability::Durable), Endpoint::open().await);
    let database = Database::fresh(&cluster);
    let proxy = Proxy::to(&cluster).await;
    let url = proxy.url(&database.name);
    let database = database.through(url);
    let nodes = database.nodes(NAMES.len()).await;
    let jobs = background(&nodes[0], &endpoint).await;
    let (rng, done) = (Rng::with_seed(seed), BTreeMap::new());
    let mut stage = Stage { database, proxy, nodes, rng, done };
    let clock = SystemClock::new();
    let end = clock.now().after(Duration::from_secs(seconds));
    while clock.now() < end {
        stage.fail().await;
        let quiet = stage.a_while(LEASE / 2);
        tokio::time::sleep(quiet).await;
    }
    stage.calm_down().await;
    let store = stage.database.store().await;
    let tally = settle(&store, stage.nodes, &jobs, &endpoint).await;
    let (slots, lost, calls) = (tally.slots, tally.lost, endpoint.calls().len());
    say(&format!(
        "{:?}: {slots} slots, {calls} calls, {lost} attempts lost with a node",
        stage.done
    ));
    assert!(slots > 0);
}
