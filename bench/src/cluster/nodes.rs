//! Two nodes beside one: together they are no slower.

use super::bed::{Bed, node};
use crate::report::{Figure, Goal};

const JOBS: usize = 20_000;
const ROUNDS: u64 = 4;

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut bed = Bed::with(JOBS).await?;
    let pair = [bed.store.clone(), node(&bed.cluster).await?];
    let rate = |seconds: f64| JOBS as f64 / seconds;
    let mut best = [0.0_f64; 2];
    for round in 1..=ROUNDS {
        // In turns, so that a slow moment of the machine meets both.
        for nodes in 1..=pair.len() {
            bed.fire().await?;
            let runs = rate(bed.work_off(&pair[..nodes]).await);
            eprintln!("{round} of {ROUNDS}: {nodes} nodes {runs:.0} runs/s");
            best[nodes - 1] = best[nodes - 1].max(runs);
        }
    }
    let [one, two] = best;
    Ok(vec![
        Figure::new("cluster: one node", one, "runs/s", Goal::None),
        Figure::new("cluster: two nodes together", two, "runs/s", Goal::None),
        Figure::new("cluster: two nodes ÷ one", two / one, "×", Goal::AtLeast(1.0)),
    ])
}
