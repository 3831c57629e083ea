//! The past: executions that are over, filed in volumes, found again, and dropped when they are too many.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use chronos_core::store::{Error, Result};
use chronos_core::{Execution, ExecutionId, JobId};

use super::desk::Home;
use super::keys::{Key, past_in, past_of, tagged, tagged_in};
use super::record::{Place, StandingRecord, decode};
use super::state::{State, engine};
use super::step::{Step, readable};
use super::volumes::Volume;
use crate::kv::Order;

impl State {
    pub(super) fn execution(&self, id: ExecutionId) -> Result<Execution> {
        if let Some(live) = self.index.live(id) {
            return Ok(live.clone());
        }
        let volume = self.volumes.of(id);
        for job in self.jobs_tagged(id.tag())? {
            if let Some(execution) = self.read(&Key::Past(volume, job, id))? {
                return Ok(execution);
            }
        }
        Err(Error::NoSuchExecution(id))
    }

    /// The jobs whose ids end like this.
    pub(super) fn jobs_tagged(&self, tag: [u8; 4]) -> Result<Vec<JobId>> {
        let (from, to) = tagged(tag);
        let mut jobs = Vec::new();
        engine(self.kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
            jobs.extend(tagged_in(key));
            ControlFlow::Continue(())
        }))?;
        Ok(jobs)
    }

    /// The job's executions, newest first: what lives, merged with what is over.
    pub(super) fn executions(
        &self,
        job: JobId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        let live = self.index.live_of(job).into_iter();
        let mut found: Vec<Execution> =
            live.filter(|live| before.is_none_or(|before| live.id < before)).cloned().collect();
        found.extend(self.newest_past(job, before, limit)?);
        found.sort_by_key(|execution| Reverse(execution.id));
        found.truncate(limit);
        Ok(found)
    }

    fn newest_past(
        &self,
        job: JobId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Execution>> {
        let mut found: Vec<Execution> = Vec::new();
        let Some((first, mut last)) = self.volumes_of(job)? else {
            return Ok(found);
        };
        if let Some(before) = before {
            last = last.min(self.volumes.of(before));
        }
        for volume in self.volumes.between((first, last)).rev() {
            if found.len() >= limit {
                break;
            }
            let (from, mut to) = past_of(volume, job);
            if let Some(before) = before {
                to = Key::Past(volume, job, before).encode().to_vec();
            }
            let rest = limit - found.len();
            found.extend(self.newest(&from, &to, rest, |_, value| decode(value))?);
        }
        Ok(found)
    }

    /// Where to look for a job's past. Of a job that is deleted or cannot be read nobody knows.
    fn volumes_of(&self, job: JobId) -> Result<Option<(Volume, Volume)>> {
        let file = self.index.desk(job).and_then(|desk| desk.file.as_ref());
        if let Some(file) = file {
            return Ok(file.place.volumes);
        }
        let record: Result<Option<StandingRecord>> = readable(self.read(&Key::Standing(job)))?;
        let record = record.ok().flatten();
        Ok(record.map_or(Some(Volume::ALL), |record| record.place.volumes))
    }
}

impl Step<'_> {
    /// Files an execution that is over with its job's past.
    pub(super) fn put_past(&mut self, execution: &Execution) -> Result<()> {
        let (job, id) = (execution.job, execution.id);
        if execution.trigger.backfill().is_some() {
            self.filled_in.push(execution.clone());
        }
        if self.state.index.take_live(id) == Some(Home::Own) {
            self.delete(&Key::Live(id));
        }
        let bounded = self.state.retention.executions_per_job.is_some();
        let exists = self.touch(job)?;
        if bounded && !exists {
            // A bounded store keeps no past for jobs that nobody can ask about by name.
            return Ok(());
        }
        if bounded {
            self.filed.push((job, id));
        }
        let volume = self.state.volumes.file(id);
        self.change(volume);
        if exists {
            let place = &mut self.open(job)?.place;
            place.kept = place.kept.saturating_add(1);
            let (first, last) = place.volumes.unwrap_or((volume, volume));
            place.volumes = Some((first.min(volume), last.max(volume)));
        }
        self.put(&Key::Past(volume, job, id), execution)
    }

    /// Has the volume's record written by this step.
    fn change(&mut self, volume: Volume) {
        if !self.volumes.contains(&volume) {
            self.volumes.push(volume);
        }
    }

    pub(super) fn file_volumes(&mut self) -> Result<()> {
        for volume in std::mem::take(&mut self.volumes) {
            let key = Key::Volume(volume);
            match self.state.volumes.filling(volume).copied() {
                Some(filling) => self.put(&key, &filling)?,
                None => self.delete(&key),
            }
        }
        Ok(())
    }

    /// Deletes what the job's past has too much of; gives back the place that it has then.
    pub(super) fn keep_to_bound(&mut self, job: JobId, mut place: Place) -> Result<Place> {
        let excess = self.state.retention.excess(place.kept);
        if excess > 0 {
            let dropped = self.drop_oldest(job, place.volumes, excess)?;
            place.kept -= u32::try_from(dropped.len()).unwrap_or(u32::MAX);
            if let (Some((first, _)), Some(newest)) = (&mut place.volumes, dropped.last()) {
                *first = self.state.volumes.of(*newest);
            }
        }
        Ok(place)
    }

    /// Deletes the job's oldest past executions; says which there were to delete.
    pub(super) fn drop_oldest(
        &mut self,
        job: JobId,
        volumes: Option<(Volume, Volume)>,
        count: u32,
    ) -> Result<Vec<ExecutionId>> {
        let count = count as usize;
        let mut oldest: Vec<ExecutionId> = Vec::new();
        for volume in volumes.into_iter().flat_map(|volumes| self.state.volumes.between(volumes)) {
            if oldest.len() >= count {
                break;
            }
            let (from, to) = past_of(volume, job);
            engine(self.state.kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
                oldest.extend(past_in(job, key));
                if oldest.len() < count {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            }))?;
        }
        // What this step files is not visible to the scan yet.
        let filed = self.filed.iter().filter(|(owner, _)| *owner == job);
        oldest.extend(filed.map(|(_, id)| *id));
        oldest.sort_unstable();
        oldest.truncate(count);
        let file = self.state.index.desk(job).and_then(|desk| desk.file.as_ref());
        let never_failed = file.is_some_and(|file| file.job.standing.tally.failed == 0);
        for id in &oldest {
            let volume = self.state.volumes.take_out(*id);
            self.change(volume);
            self.delete(&Key::Past(volume, job, *id));
            if !never_failed {
                self.delete(&Key::DeadLetter(*id));
            }
        }
        Ok(oldest)
    }

    /// Deletes one of the job's past executions.
    pub(super) fn take_out_of_past(&mut self, job: JobId, id: ExecutionId) {
        let volume = self.state.volumes.take_out(id);
        self.change(volume);
        self.delete(&Key::Past(volume, job, id));
        self.delete(&Key::DeadLetter(id));
    }
}
