//! No-op jobs a second, beside peers on the same PostgreSQL in the same run.

use super::DATABASE;
use super::bed::Bed;
use super::rival::Kit;
use crate::report::{Figure, Goal};

/// Jobs of a round: many batches of the peer with the largest.
const JOBS: usize = 100_000;
/// Rounds of each; the best counts, because noise only ever adds.
const ROUNDS: usize = 2;

/// A peer: its name, what runs it, and the first argument.
type Peer<'a> = (&'static str, Option<&'a Kit>, &'static str);

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let (npm, crates) = (Kit::of_npm()?, Kit::of_crates()?);
    let mut bed = Bed::with(JOBS).await?;
    let peers: [Peer<'_>; 4] = [
        ("graphile-worker", npm.as_ref(), "graphile.mjs"),
        ("pg-boss", npm.as_ref(), "boss.mjs"),
        ("graphile_worker", crates.as_ref(), "graphile"),
        ("apalis-postgres", crates.as_ref(), "apalis"),
    ];
    let ours = ours(&mut bed).await?;
    let mut figures = vec![Figure::new("beside peers: ours", ours, "runs/s", Goal::None)];
    let mut best = 0.0_f64;
    for (name, kit, program) in peers {
        let Some(kit) = kit else { continue };
        let rate = theirs(&bed, kit, program)?;
        eprintln!("{name}: {rate:.0} jobs/s");
        best = best.max(rate);
        figures.push(Figure::new(format!("beside peers: {name}"), rate, "jobs/s", Goal::None));
    }
    if best > 0.0 {
        let ratio = ours / best;
        figures.push(Figure::new("beside peers: ours ÷ the best", ratio, "×", Goal::AtLeast(1.0)));
    }
    Ok(figures)
}

async fn ours(bed: &mut Bed) -> anyhow::Result<f64> {
    let mut best = 0.0_f64;
    for _ in 0..ROUNDS {
        bed.fire().await?;
        let rate = JOBS as f64 / bed.work_off(std::slice::from_ref(&bed.store)).await;
        eprintln!("ours: {rate:.0} runs/s");
        best = best.max(rate);
    }
    Ok(best)
}

/// What a peer reaches in a database of its own.
fn theirs(bed: &Bed, kit: &Kit, program: &str) -> anyhow::Result<f64> {
    let database = bed.cluster.fresh_name();
    for statement in [&format!("CREATE DATABASE {database}"), "CHECKPOINT"] {
        bed.cluster.psql(DATABASE, statement);
    }
    let (url, jobs, rounds) = (bed.cluster.url(&database), JOBS.to_string(), ROUNDS.to_string());
    let seconds = kit.run(&[program, "throughput", &url, &jobs, &rounds])?;
    anyhow::ensure!(seconds.len() == ROUNDS, "{program} told {seconds:?}");
    Ok(JOBS as f64 / seconds.into_iter().fold(f64::INFINITY, f64::min))
}
