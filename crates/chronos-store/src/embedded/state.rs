//! The state behind the lock: engine, index and counters, and how they are loaded and read.

use std::ops::ControlFlow;
use std::sync::Arc;

use chronos_core::execution::Token;
use chronos_core::notice::Occasions;
use chronos_core::plan::Storm;
use chronos_core::policy::QuietHours;
use chronos_core::store::{Error, Result};
use chronos_core::{Backfill, Execution, ExecutionId, Job, JobId, JobSpec, Subscription};
use serde::de::DeserializeOwned;

use super::Retention;
use super::audit;
use super::desk::{File, Home};
use super::index::Index;
use super::keys::{Key, Table, execution_in, job_in, volume_in};
use super::messages;
use super::outlet::{Outlet, Reach};
use super::record::{StandingRecord, decode, decode_head};
use super::roll::{Card, Roll, SpecHead};
use super::step::readable;
use super::volumes::Volumes;
use crate::audit::Digest;
use crate::kv::{self, Kv, Order};

pub(super) struct State {
    pub(super) kv: Arc<dyn Kv>,
    pub(super) index: Index,
    pub(super) retention: Retention,
    pub(super) volumes: Volumes,
    /// The highest fencing token handed out.
    pub(super) token: Token,
    /// The sequence of the newest decision.
    pub(super) sequence: u64,
    /// What is in the newest chapter of the decisions so far.
    pub(super) digest: Digest,
    /// The sequence of the newest message event.
    pub(super) message: u64,
    /// Which message events can be read.
    pub(super) outlet: Arc<Outlet>,
    /// How much the last step wrote and decided: the next one makes room for as much.
    pub(super) last_sizes: (usize, usize),
    /// How many jobs were fired last; they are large, and a list that grows copies them.
    pub(super) last_fired: usize,
    /// Counts claims, of which one now and then has the crowd first.
    pub(super) claims: u64,
    /// What is told about jobs that do not say.
    pub(super) usual: Option<Occasions>,
    /// What was caught up of late.
    pub(super) storm: Storm,
    /// Up to where old requests are deleted.
    pub(super) forgotten_until: Option<Vec<u8>>,
    /// Whether there is any user: asked at every request until there is one.
    pub(super) has_users: bool,
    /// Set when the index may not match the records.
    pub(super) stale: bool,
}

/// Visits entries until the visitor breaks or fails; either ends the scan.
pub(super) fn visit_entries(
    kv: &dyn Kv,
    (from, to): (&[u8], &[u8]),
    order: Order,
    mut visitor: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut outcome = Ok(());
    let scanned = kv.scan(from, to, order, &mut |key, value| {
        visitor(key, value).unwrap_or_else(|error| {
            outcome = Err(error);
            ControlFlow::Break(())
        })
    });
    engine(scanned)?;
    outcome
}

/// Goes on while fewer than `limit` are found.
pub(super) fn until(found: usize, limit: usize) -> ControlFlow<()> {
    if found < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// Turns an engine's error into the port's.
pub(super) fn engine<T>(result: kv::Result<T>) -> Result<T> {
    result.map_err(|error| Error::Unavailable(error.to_string()))
}

impl State {
    pub(super) fn open(
        kv: Arc<dyn Kv>,
        retention: Retention,
        volumes: Volumes,
        outlet: Arc<Outlet>,
    ) -> Result<Self> {
        let mut state = Self {
            kv,
            index: Index::default(),
            retention,
            volumes,
            token: Token(0),
            sequence: 0,
            digest: Digest::default(),
            message: 0,
            outlet,
            last_sizes: (0, 0),
            last_fired: 0,
            claims: 0,
            usual: None,
            storm: Storm::default(),
            forgotten_until: None,
            has_users: false,
            stale: true,
        };
        state.refresh()?;
        Ok(state)
    }

    /// The newest message event and the newest decision.
    pub(super) fn reach(&self) -> Reach {
        Reach { message: self.message, decision: self.sequence }
    }

    /// Rebuilds the index from the records if it may not match them.
    pub(super) fn refresh(&mut self) -> Result<()> {
        if !self.stale {
            return Ok(());
        }
        let mut index = Index::default();
        let mut cards = self.cards(&mut index.roll)?.into_iter().peekable();
        let mut placed = Vec::with_capacity(cards.len());
        let mut due = Vec::new();
        self.each(Table::Standing, |key, value| {
            let Some(job) = job_in(key) else {
                return Ok(());
            };
            index.jobs += 1;
            // A record that cannot be read is set aside; its job is named when it is asked for.
            let Ok(record) = decode::<StandingRecord>(value) else {
                return Ok(());
            };
            due.extend(record.place.turn(job));
            while cards.next_if(|(other, _)| *other < job).is_some() {}
            if let Some((_, mut card)) = cards.next_if(|(other, _)| *other == job) {
                index.roll.place(job, &mut card, &record.standing, record.place.due);
                placed.push((job, card));
            }
            if let Some(live) = record.live {
                index.put_live(live, Home::Job);
            }
            Ok(())
        })?;
        index.set_due(&due);
        index.roll.fill(placed);
        self.each(Table::Live, |_, value| {
            index.put_live(decode::<Execution>(value)?, Home::Own);
            Ok(())
        })?;
        self.each(Table::Policy, |_, value| {
            // One that cannot be read holds nothing back, and its jobs say so.
            if let Ok(policy) = decode::<QuietHours>(value) {
                index.policies.insert(policy.id, policy);
            }
            Ok(())
        })?;
        self.each(Table::Subscription, |_, value| {
            // One that cannot be read delivers nothing, and says why when it is asked for.
            if let Ok(subscription) = decode::<Subscription>(value) {
                index.subscriptions.insert(subscription.id, subscription);
            }
            Ok(())
        })?;
        self.each(Table::Backfill, |_, value| {
            // One that cannot be read does not go on, and says why when it is asked for.
            if let Ok(backfill) = decode::<Backfill>(value)
                && !backfill.is_over()
            {
                index.backfills.insert((backfill.job, backfill.number), backfill);
            }
            Ok(())
        })?;
        let mut volumes = Vec::new();
        self.each(Table::Volume, |key, value| {
            let filling = decode(value)?;
            volumes.extend(volume_in(key).map(|volume| (volume, filling)));
            Ok(())
        })?;
        self.volumes.reload(volumes);
        self.token = Token(self.read(&Key::Token)?.unwrap_or(0));
        self.sequence = audit::newest(self.kv.as_ref())?;
        self.digest = audit::unfinished(self.kv.as_ref(), self.sequence)?;
        self.message = messages::newest(self.kv.as_ref())?;
        self.outlet.commit(self.reach());
        self.has_users = self.any_user()?;
        self.index = index;
        self.forgotten_until = None;
        self.stale = false;
        Ok(())
    }

    /// A card for every spec that can be read, in the order of their ids.
    fn cards(&self, roll: &mut Roll) -> Result<Vec<(JobId, Card)>> {
        let mut cards = Vec::new();
        self.each(Table::Spec, |_, value| {
            if let Ok(head) = decode_head::<SpecHead<'_>>(value) {
                cards.push((head.id, roll.draw(&head)));
            }
            Ok(())
        })?;
        Ok(cards)
    }

    /// Visits every record of a table in the order of their keys.
    pub(super) fn each(
        &self,
        table: Table,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (from, to) = table.range();
        visit_entries(self.kv.as_ref(), (&from, &to), Order::Ascending, |key, value| {
            visit(key, value).map(ControlFlow::Continue)
        })
    }

    pub(super) fn read<T: DeserializeOwned>(&self, key: &Key<'_>) -> Result<Option<T>> {
        let bytes = engine(self.kv.get(&key.encode()))?;
        bytes.as_deref().map(decode).transpose()
    }

    pub(super) fn exists(&self, key: &Key<'_>) -> Result<bool> {
        Ok(engine(self.kv.get(&key.encode()))?.is_some())
    }

    pub(super) fn spec(&self, job: JobId) -> Result<Arc<JobSpec>> {
        if let Some(file) = self.file(job) {
            return Ok(file.job.spec.clone());
        }
        self.read(&Key::Spec(job))?.map(Arc::new).ok_or(Error::NoSuchJob(job))
    }

    fn file(&self, job: JobId) -> Option<&File> {
        self.index.desk(job)?.file.as_ref()
    }

    /// The job; an error when there is none.
    pub(super) fn load(&self, job: JobId) -> Result<Job> {
        match self.file(job) {
            Some(file) => Ok(file.job.clone()),
            None => self.read_file(job).map(|file| file.job),
        }
    }

    /// The job's records; an error when there are none.
    pub(super) fn read_file(&self, job: JobId) -> Result<File> {
        let record: Option<StandingRecord> = self.read(&Key::Standing(job))?;
        let StandingRecord { place, standing, .. } = record.ok_or(Error::NoSuchJob(job))?;
        Ok(File::new(Job { spec: self.spec(job)?, standing }, place))
    }

    pub(super) fn job_named(&mut self, owner: &str, name: &str) -> Result<Option<Job>> {
        let Some(job) = self.read::<JobId>(&Key::Name(owner, name))? else {
            return Ok(None);
        };
        self.load(job).map(Some)
    }

    /// Jobs in the order of their ids. One that cannot be read is left out: it must not hide those
    /// after it, and whoever asks for it alone is told.
    pub(super) fn jobs(&mut self, mut after: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        while jobs.len() < limit {
            let ids = self.job_ids(after, limit - jobs.len())?;
            let Some(last) = ids.last() else {
                break;
            };
            after = Some(*last);
            for id in ids {
                jobs.extend(readable(self.load(id))?.ok());
            }
        }
        Ok(jobs)
    }

    fn job_ids(&self, after: Option<JobId>, limit: usize) -> Result<Vec<JobId>> {
        let (mut from, to) = Table::Spec.range();
        if let Some(after) = after {
            from = Key::Spec(after).encode().to_vec();
            from.push(0);
        }
        let mut ids = Vec::new();
        engine(self.kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
            ids.extend(job_in(key));
            if ids.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }))?;
        Ok(ids)
    }

    pub(super) fn dead_letters(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        let (from, mut to) = Table::DeadLetter.range();
        if let Some(before) = before {
            to = Key::DeadLetter(before).encode().to_vec();
        }
        let ids: Vec<ExecutionId> = self.newest(&from, &to, limit, |key, _| {
            execution_in(key).ok_or_else(|| Error::Corrupt("a key is too short".into()))
        })?;
        ids.into_iter().map(|id| self.execution(id)).collect()
    }

    pub(super) fn newest<T>(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
        mut read: impl FnMut(&[u8], &[u8]) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        if limit == 0 {
            return Ok(found);
        }
        visit_entries(self.kv.as_ref(), (from, to), Order::Descending, |key, value| {
            found.push(read(key, value)?);
            Ok(until(found.len(), limit))
        })?;
        Ok(found)
    }
}
