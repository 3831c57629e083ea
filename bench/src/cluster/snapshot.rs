//! What claims cost while somebody else's transaction keeps every old row alive.

use super::DATABASE;
use super::bed::{Bed, Spent};
use crate::report::{Figure, Goal};

const JOBS: usize = 20_000;
/// Rounds of which the best counts, at the beginning and at the end.
const ROUNDS: u64 = 3;
/// Executions in all, unless the environment says how many.
const RUNS: u64 = 200_000;
const RUNS_NAME: &str = "CHRONOS_BENCH_SNAPSHOT_RUNS";

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let runs = match std::env::var(RUNS_NAME) {
        Ok(given) => given.parse()?,
        Err(_) => RUNS,
    };
    let rounds = runs / JOBS as u64;
    anyhow::ensure!(rounds >= 2 * ROUNDS, "{RUNS_NAME} is {runs}; use 120000 or more");
    let mut bed = Bed::with(JOBS).await?;
    let mut somebody = bed.cluster.session(DATABASE);
    // From its first statement on, it sees the database as it is now.
    somebody
        .run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM chronos.live_executions");
    let first = bed.rounds("at the start", ROUNDS).await?;
    bed.rounds("meanwhile", rounds - 2 * ROUNDS).await?;
    let last = bed.rounds("at the end", ROUNDS).await?;
    somebody.run("COMMIT");
    let each = |spent: Spent| spent.claiming * 1e6 / JOBS as f64;
    let (claim, run) = (last.claiming / first.claiming, last.all() / first.all());
    let held = |what: &str| format!("with an open snapshot: {what}");
    Ok(vec![
        Figure::new(held("runs in all"), runs as f64, "runs", Goal::None),
        Figure::new(held("a claim at the start"), each(first), "µs", Goal::None),
        Figure::new(held("a claim at the end"), each(last), "µs", Goal::None),
        Figure::new(held("a claim, end ÷ start"), claim, "×", Goal::AtMost(1.3)),
        Figure::new(held("claim and finish, end ÷ start"), run, "×", Goal::None),
    ])
}
