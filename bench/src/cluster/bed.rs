//! What scenarios begin with: a durable PostgreSQL, a store on it, and jobs that have a run in every second.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use chronos_core::store::{Claim, Terms};
use chronos_core::{JobSpec, Store, WorkerId};
use chronos_pgtest::{Cluster, Durability};
use chronos_store::{PostgresConfig, PostgresStore};

use super::DATABASE;
use super::fill::multiply_jobs;
use crate::live;
use crate::process::begin;
use crate::workload::{BATCH, at, create, ends, every_second};

/// Jobs of one spec.
const BESIDE: usize = 20;

pub(super) struct Bed {
    pub(super) cluster: Cluster,
    pub(super) store: Arc<dyn Store>,
    jobs: usize,
    /// The newest second whose runs have been fired.
    second: u64,
}

/// Seconds that verbs took for all runs of a second.
#[derive(Clone, Copy)]
pub(super) struct Spent {
    pub(super) claiming: f64,
    pub(super) finishing: f64,
}

impl Spent {
    /// The least of rounds, because noise only ever adds.
    pub(super) fn least(rounds: &[Self]) -> Self {
        let least = |part: fn(&Self) -> f64| rounds.iter().map(part).fold(f64::INFINITY, f64::min);
        Self { claiming: least(|spent| spent.claiming), finishing: least(|spent| spent.finishing) }
    }

    pub(super) fn all(self) -> f64 {
        self.claiming + self.finishing
    }
}

impl Bed {
    pub(super) async fn with(jobs: usize) -> anyhow::Result<Self> {
        Self::of(every_second(jobs / BESIDE)?, BESIDE).await
    }

    /// Has as many jobs of each spec. One of each is made by the store, the others by the database from it,
    /// because that is quicker.
    pub(super) async fn of(specs: Vec<JobSpec>, of_each: usize) -> anyhow::Result<Self> {
        let (jobs, begun) = (specs.len() * of_each, begin());
        let cluster = Cluster::start(Durability::Durable);
        let store = node(&cluster).await?;
        create(&*store, specs).await?;
        if of_each > 1 {
            multiply_jobs(&cluster, of_each - 1);
        }
        eprintln!("{jobs} jobs made in {:.1} s", begun.elapsed().as_secs_f64());
        Ok(Self { cluster, store, jobs, second: 0 })
    }

    /// Fires the next second's slots, whose runs then wait to be claimed.
    pub(super) async fn fire(&mut self) -> anyhow::Result<()> {
        self.second += 1;
        let (mut fired, begun) = (0, begin());
        while fired < self.jobs {
            let planned = self.store.fire_due(at(self.second), BATCH, None).await?.planned.len();
            ensure!(planned > 0, "{fired} of {} slots fired", self.jobs);
            fired += planned;
        }
        eprintln!("{fired} slots fired in {:.1} s", begun.elapsed().as_secs_f64());
        self.cluster.psql(DATABASE, "CHECKPOINT");
        Ok(())
    }

    /// Seconds that workers on these stores take together for the fired second's runs.
    pub(super) async fn work_off(&self, nodes: &[Arc<dyn Store>]) -> f64 {
        live::work_off_together(nodes, at(self.second), self.jobs).await
    }

    /// What the fired second's runs take by the store's verbs alone, in an engine's batches.
    pub(super) async fn spend(&self) -> anyhow::Result<Spent> {
        let (now, worker) = (at(self.second), WorkerId::new("measured"));
        let terms = Terms { now, lease: Duration::from_mins(10) };
        let mut batches: Vec<Vec<Claim>> = Vec::new();
        let begun = begin();
        loop {
            let claims = self.store.claim(&worker, terms, BATCH.into()).await?.claims;
            if claims.is_empty() {
                break;
            }
            batches.push(claims);
        }
        let claiming = begun.elapsed().as_secs_f64();
        let claimed: usize = batches.iter().map(Vec::len).sum();
        ensure!(claimed == self.jobs, "{claimed} of {} runs claimed", self.jobs);
        let begun = begin();
        for claims in batches {
            for answer in self.store.finish(ends(&claims, now), now).await? {
                answer?;
            }
        }
        Ok(Spent { claiming, finishing: begun.elapsed().as_secs_f64() })
    }

    /// The least that so many rounds take by verbs alone.
    pub(super) async fn rounds(&mut self, name: &str, number: u64) -> anyhow::Result<Spent> {
        let mut rounds = Vec::new();
        for _ in 0..number {
            self.fire().await?;
            let spent = self.spend().await?;
            let rate = |seconds: f64| self.jobs as f64 / seconds;
            let (claims, ends) = (rate(spent.claiming), rate(spent.finishing));
            eprintln!("{name}: {claims:.0} claims/s, {ends:.0} ends/s");
            rounds.push(spent);
        }
        Ok(Spent::least(&rounds))
    }
}

/// A node's store on this cluster.
pub(super) async fn node(cluster: &Cluster) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(PostgresStore::open(PostgresConfig::new(&cluster.url(DATABASE))).await?))
}
