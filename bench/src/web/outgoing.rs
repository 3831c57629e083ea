//! Jobs that call an endpoint, against a bare client that calls it as often with as many at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::ensure;
use chronos_engine::Handler;
use chronos_engine::http::Limits;

use super::target::Endpoint;
use super::{calling, client, limited_caller, once};
use crate::disk;
use crate::live;
use crate::process::begin;
use crate::report::{Figure, Goal};
use crate::workload::{at, create};

/// Requests that are made by each.
const REQUESTS: usize = 30_000;
/// Times that both are measured.
const PAIRS: usize = 5;
/// Requests under way at once, of either.
const AT_ONCE: usize = 64;

pub(super) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let endpoint = Endpoint::prompt()?;
    // Either begins with its connections made and its certificates read.
    let (client, caller) = (client()?, OnceLock::new());
    bare(&client, &endpoint, REQUESTS / 10).await?;
    through_jobs(&caller, &endpoint, REQUESTS / 10).await?;
    // The middle one of some pairs: either may meet a moment in which the machine is slow.
    let mut pairs = Vec::with_capacity(PAIRS);
    for number in 1..=PAIRS {
        let bare = bare(&client, &endpoint, REQUESTS).await?;
        let ours = through_jobs(&caller, &endpoint, REQUESTS).await?;
        eprintln!("{number} of {PAIRS}: {ours:.0} requests/s, {bare:.0} of the bare client");
        pairs.push((bare, ours));
    }
    pairs.sort_by(|(bare, ours), (other_bare, other_ours)| {
        (ours / bare).total_cmp(&(other_ours / other_bare))
    });
    let (bare, ours) = pairs[PAIRS / 2];
    let (rate, at_least) = ("runs/s", Goal::AtLeast(0.4));
    Ok(vec![
        Figure::new("http jobs: bare client", bare, rate, Goal::None),
        Figure::new("http jobs: end to end", ours, rate, Goal::None),
        Figure::new("http jobs: ours ÷ bare client", ours / bare, "×", at_least),
    ])
}

/// Requests a second of a bare client with a pool of connections.
async fn bare(
    client: &reqwest::Client,
    endpoint: &Endpoint,
    requests: usize,
) -> anyhow::Result<f64> {
    let (url, left) = (endpoint.url(), Arc::new(AtomicUsize::new(requests)));
    let begun = begin();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, url, left) = (client.clone(), url.clone(), left.clone());
        callers.spawn(async move {
            let more = |left: usize| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok() {
                let answer = client.post(&url).send().await?;
                ensure!(answer.status().is_success(), "{}", answer.status());
                answer.bytes().await?;
            }
            Ok(())
        });
    }
    while let Some(called) = callers.join_next().await {
        called??;
    }
    Ok(requests as f64 / begun.elapsed().as_secs_f64())
}

/// Requests a second of jobs that are due at once: fired, claimed, called, ended, and every step synced.
async fn through_jobs(
    caller: &OnceLock<Arc<dyn Handler>>,
    endpoint: &Endpoint,
    requests: usize,
) -> anyhow::Result<f64> {
    let directory = disk::directory()?;
    let store = disk::open(directory.path(), disk::retention())?;
    let specs = (0..requests).map(|number| calling(number, endpoint, once(at(1))));
    create(&*store, specs.collect::<anyhow::Result<Vec<_>>>()?).await?;
    let limits = Limits { per_host: AT_ONCE, ..Limits::default() };
    let handler = |clock| caller.get_or_init(|| limited_caller(clock, limits)).clone();
    let took = live::make_all(store, at(1), requests, handler).await;
    Ok(requests as f64 / took)
}
