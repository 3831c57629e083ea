//! Answers: everything that a store says when it is read, to be compared as one value.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::audit::AuditEvent;
use chronos_core::job::Status;
use chronos_core::policy::QuietHours;
use chronos_core::store::{EventFilter, JobCounts, JobFilter, Stats, Terms};
use chronos_core::{Backfill, Execution, Job, JobId, MessageEvent, Store, Timestamp, WorkerId};

use crate::bench::terms;

/// All that can be read of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) jobs: Vec<Job>,
    /// By job, also of jobs that are deleted; newest first.
    pub(crate) executions: BTreeMap<JobId, Vec<Execution>>,
    pub(crate) dead_letters: Vec<Execution>,
    pub(crate) audit: Vec<AuditEvent>,
    pub(crate) messages: Vec<MessageEvent>,
    pub(crate) policies: Vec<QuietHours>,
    pub(crate) checkpoints: BTreeMap<JobId, Option<Vec<u8>>>,
    pub(crate) backfills: Vec<Backfill>,
    pub(crate) stats: Stats,
    pub(crate) next: Next,
}

/// Every message event, by as many pages as it takes.
async fn every_message(store: &dyn Store) -> Vec<MessageEvent> {
    let (mut cursor, mut messages) = (0, Vec::new());
    loop {
        let page = store.message_events(&EventFilter::default(), cursor, ALL).await.unwrap();
        messages.extend(page.events);
        if !page.more {
            return messages;
        }
        cursor = page.cursor;
    }
}

/// When there is something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) fire: Option<Timestamp>,
    pub(crate) claim: Option<Timestamp>,
    pub(crate) reap: Option<Timestamp>,
}

const ALL: usize = 100_000;

impl Answers {
    pub(crate) async fn of(store: &dyn Store) -> Self {
        let jobs = store.jobs(None, ALL).await.unwrap();
        let audit = store.audit(0, ALL).await.unwrap();
        let mut known: BTreeSet<JobId> = audit.iter().filter_map(|event| event.job).collect();
        known.extend(jobs.iter().map(|job| job.spec.id));
        let mut executions = BTreeMap::new();
        let (mut checkpoints, mut backfills) = (BTreeMap::new(), Vec::new());
        for job in known {
            executions.insert(job, store.executions(job, None, ALL).await.unwrap());
            checkpoints.insert(job, store.checkpoint(job).await.unwrap());
            backfills.extend(store.backfills(job, None, ALL).await.unwrap());
        }
        let stats = store.stats().await.unwrap();
        let messages = every_message(store).await;
        let answers = Self {
            jobs,
            executions,
            dead_letters: store.dead_letters(None, ALL).await.unwrap(),
            audit,
            messages,
            policies: store.policies(None, ALL).await.unwrap(),
            checkpoints,
            backfills,
            // Engines account for space as they please.
            stats: Stats { bytes: 0, ..stats },
            next: Next::of(store).await,
        };
        answers.assert_consistent(store).await;
        answers
    }

    /// Each thing must be the same whichever way it is asked for.
    async fn assert_consistent(&self, store: &dyn Store) {
        for job in &self.jobs {
            assert_eq!(store.job(job.spec.id).await.as_ref(), Ok(job));
            let named = store.job_named(&job.spec.owner, &job.spec.name).await;
            assert_eq!(named.unwrap().as_ref(), Some(job));
        }
        for execution in self.rows().chain(&self.dead_letters) {
            assert_eq!(store.execution(execution.id).await.as_ref(), Ok(execution));
        }
        for backfill in &self.backfills {
            assert_eq!(store.backfill(backfill.id()).await.as_ref(), Ok(backfill));
            let alive = self.rows().filter(|row| row.is_live() && backfill.asked_for(row)).count();
            assert_eq!(backfill.counts.under_way(), alive as u64, "{backfill:?}");
        }
        let running = self.rows().filter(|row| row.running().is_some()).count() as u64;
        let queued = self.rows().filter(|row| row.is_queued()).count() as u64;
        let jobs = self.jobs.len() as u64;
        let paused = self.jobs.iter().filter(|job| job.standing.paused.is_some()).count() as u64;
        let counted = Stats { jobs, paused, queued, running, bytes: 0 };
        assert_eq!(self.stats, counted);
        let mut by_status = JobCounts::default();
        for job in &self.jobs {
            let live = self.executions[&job.spec.id].iter().filter(|row| row.is_live());
            *by_status.of(Status::of(job, live)) += 1;
        }
        assert_eq!(store.count_jobs().await, Ok(by_status));
        self.assert_found(store).await;
        // From the first that is kept: older ones may have been pruned.
        let first = self.audit.first().map_or(1, |event| event.sequence);
        for (event, sequence) in self.audit.iter().zip(first..) {
            assert_eq!(event.sequence, sequence, "decisions are counted gaplessly");
        }
    }

    /// Whatever a filter asks for is found, in pages of any size, and nothing else.
    async fn assert_found(&self, store: &dyn Store) {
        let slots = self.jobs.iter().filter_map(|job| job.standing.next_slot);
        let middle = slots.clone().nth(self.jobs.len() / 2);
        let any = JobFilter::default;
        let mut filters = vec![
            any(),
            JobFilter { owner: Some("".into()), ..any() },
            JobFilter { owner: Some("nobody".into()), ..any() },
            JobFilter { owner: Some("".into()), name_prefix: Some("b".into()), ..any() },
            JobFilter { name_prefix: Some("be".into()), ..any() },
            JobFilter { tag: Some("red".into()), ..any() },
            JobFilter { tag: Some("blue".into()), paused: Some(false), ..any() },
            JobFilter { tag: Some("green".into()), ..any() },
            JobFilter { paused: Some(true), ..any() },
            JobFilter { recurring: Some(true), next_from: middle, ..any() },
            JobFilter { recurring: Some(false), next_before: middle, ..any() },
        ];
        filters.extend(Status::ALL.map(|status| JobFilter { status: Some(status), ..any() }));
        for (number, filter) in filters.iter().enumerate() {
            let expected = self.jobs.iter().filter(|job| {
                let rows = &self.executions[&job.spec.id];
                let live: Vec<_> = rows.iter().filter(|row| row.is_live()).collect();
                filter.matches(job, &live)
            });
            let found = found(store, filter, 1 + number % 3).await;
            assert!(found.iter().eq(expected), "{filter:?}");
        }
    }

    /// Every execution of every job.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Execution> {
        self.executions.values().flatten()
    }

    /// Says which answer differs, because the whole is too long to read.
    pub(crate) fn assert_same(&self, other: &Self) {
        assert_eq!(self.jobs, other.jobs, "jobs");
        assert_eq!(self.executions, other.executions, "executions");
        assert_eq!(self.dead_letters, other.dead_letters, "dead letters");
        assert_eq!(self.audit, other.audit, "audit");
        assert_eq!(self.policies, other.policies, "policies");
        assert_eq!(self.checkpoints, other.checkpoints, "checkpoints");
        assert_eq!(self.backfills, other.backfills, "backfills");
        assert_eq!(self.stats, other.stats, "stats");
        assert_eq!(self.next, other.next, "what is next");
    }
}

/// Every job that a filter asks for, page by page.
pub(crate) async fn found(store: &dyn Store, filter: &JobFilter, limit: usize) -> Vec<Job> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = store.find_jobs(filter, after, limit).await.unwrap();
        assert!(page.jobs.len() <= limit, "{limit}");
        assert!(page.next.is_none_or(|next| Some(next) > after), "pages go on");
        found.extend(page.jobs);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

impl Next {
    /// A step that may do nothing still says when there is something to do.
    async fn of(store: &dyn Store) -> Self {
        let now = Timestamp::MIN;
        let nobody = WorkerId::new("nobody");
        let terms = Terms { now, ..terms(0) };
        Self {
            fire: store.fire_due(now, 0, None).await.unwrap().next,
            claim: store.claim(&nobody, terms, 0.into()).await.unwrap().next,
            reap: store.reap(now, 0).await.unwrap().next,
        }
    }
}
