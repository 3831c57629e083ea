//! The store on PostgreSQL: a private, durable cluster beside this process, on the same machine.

mod bare;
mod bed;
mod catch_up;
mod fill;
mod history;
mod latency;
mod messages;
mod nodes;
mod peers;
mod rival;
mod schedules;
mod server;
mod snapshot;

use std::sync::Arc;
use std::time::Duration;

use chronos_core::Store;
use chronos_core::store::Roles;
use chronos_pgtest::{Cluster, Durability};
use chronos_store::{PostgresConfig, PostgresStore};

use crate::live;
use crate::process::cpu_seconds;
use crate::report::{Figure, Goal};
use crate::workload::{BATCH, at, create, every_second};

pub(crate) use catch_up::measure as backlog;
pub(crate) use history::measure as history;
pub(crate) use latency::measure as latency;
pub(crate) use messages::measure as messages;
pub(crate) use nodes::measure as nodes;
pub(crate) use peers::measure as peers;
pub(crate) use schedules::measure as schedules;
pub(crate) use snapshot::measure as snapshot;

/// Jobs of which each has one run in every round.
const JOBS: usize = 20_000;
/// Rounds; the best counts, because noise only ever adds.
const ROUNDS: u64 = 4;
/// How long an idle node is watched.
const IDLE: Duration = Duration::from_secs(10);
const DATABASE: &str = "postgres";

/// What rounds gave at best.
struct Best {
    bare: f64,
    ours: f64,
    fired: f64,
    server_cpu: f64,
    cpu: f64,
}

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let cluster = Cluster::start(Durability::Durable);
    let url = cluster.url(DATABASE);
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(PostgresConfig::new(&url)).await?);
    bare::prepare(&url).await?;
    create(&*store, every_second(JOBS)?).await?;
    let Best { bare, ours, fired, server_cpu, cpu } = rounds(&cluster, &store).await?;
    let (statements, idle_cpu) = idle(&cluster, &store).await?;
    Ok(vec![
        Figure::new("cluster: bare SQL, same batches", bare, "runs/s", Goal::None),
        Figure::new("cluster: claim and finish", ours, "runs/s", Goal::AtLeast(37_000.0)),
        Figure::new("cluster: claim and finish ÷ bare", ours / bare, "×", Goal::AtLeast(0.6)),
        Figure::new("cluster: PostgreSQL's CPU a run", server_cpu, "µs", Goal::None),
        Figure::new("cluster: CPU a run", cpu, "µs", Goal::None),
        Figure::new("cluster: slots fired", fired, "runs/s", Goal::None),
        Figure::new("cluster: idle, statements a second", statements, "×", Goal::AtMost(2.0)),
        Figure::new("cluster: idle, PostgreSQL's CPU", idle_cpu, "%", Goal::AtMost(1.0)),
    ])
}

async fn rounds(cluster: &Cluster, store: &Arc<dyn Store>) -> anyhow::Result<Best> {
    let mut best =
        Best { bare: 0.0, ours: 0.0, fired: 0.0, server_cpu: f64::INFINITY, cpu: f64::INFINITY };
    let rate = |seconds: f64| JOBS as f64 / seconds;
    for round in 1..=ROUNDS {
        let bare = bare::work_off(&cluster.url(DATABASE), JOBS).await?;
        best.bare = best.bare.max(rate(bare));
        let fired = fire(&**store, round).await?;
        best.fired = best.fired.max(rate(fired));
        cluster.psql(DATABASE, "CHECKPOINT");
        let before = (server::cpu_seconds(cluster)?, cpu_seconds()?);
        let ours = live::work_off(store.clone(), at(round), JOBS).await;
        best.ours = best.ours.max(rate(ours));
        let each = |spent: f64| spent * 1e6 / JOBS as f64;
        best.server_cpu = best.server_cpu.min(each(server::cpu_seconds(cluster)? - before.0));
        best.cpu = best.cpu.min(each(cpu_seconds()? - before.1));
        eprintln!(
            "{round} of {ROUNDS}: bare {:.0}, ours {:.0}, fired {:.0} runs/s",
            rate(bare),
            rate(ours),
            rate(fired)
        );
    }
    Ok(best)
}

/// Seconds that it takes to fire a second's slots, which are then to be claimed.
async fn fire(store: &dyn Store, second: u64) -> anyhow::Result<f64> {
    let begun = crate::process::begin();
    let mut fired = 0;
    while fired < JOBS {
        let planned = store.fire_due(at(second), BATCH, None).await?.planned.len();
        anyhow::ensure!(planned > 0, "{fired} of {JOBS} slots fired");
        fired += planned;
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Transactions a second and PostgreSQL's CPU in percent of a core, of a node with nothing due.
async fn idle(cluster: &Cluster, store: &Arc<dyn Store>) -> anyhow::Result<(f64, f64)> {
    // What the server does by itself after the rounds is not the node's.
    cluster.psql(DATABASE, "ALTER SYSTEM SET autovacuum = off");
    cluster.psql(DATABASE, "SELECT pg_reload_conf()");
    // An hour earlier than everything that is due.
    let now = at(0).before(Duration::from_hours(1));
    let engine = live::idle(store.clone(), now, Roles::default());
    // It begins with a look at everything, and sessions tell of what they did before within ten seconds.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let before = (server::transactions(cluster)?, server::cpu_seconds(cluster)?);
    tokio::time::sleep(IDLE).await;
    let after = (server::transactions(cluster)?, server::cpu_seconds(cluster)?);
    engine.stop(Duration::from_secs(1)).await;
    let seconds = IDLE.as_secs_f64();
    Ok(((after.0 - before.0) / seconds, (after.1 - before.1) / seconds * 100.0))
}
