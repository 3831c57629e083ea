//! Backfills in the embedded store: those that go on are few and held in memory, those that are over are on record.

use std::ops::ControlFlow;

use async_trait::async_trait;
use chronos_core::backfill::{Advanced, Backfill, Backfills, Entry, Switch, Turn, turn};
use chronos_core::execution::CancelCause;
use chronos_core::store::{Error, Result};
use chronos_core::{BackfillId, Execution, ExecutionId, JobId, Timestamp};

use super::EmbeddedStore;
use super::keys::{Key, backfills_of, past_between, sequence_in};
use super::record::decode;
use super::state::{State, visit_entries};
use super::step::{Step, readable};
use crate::kv::Order;

#[async_trait]
impl Backfills for EmbeddedStore {
    async fn create_backfill(&self, new: Backfill, now: Timestamp) -> Result<Backfill> {
        self.step(now, |step| step.create_backfill(new)).await
    }

    async fn backfill(&self, backfill: BackfillId) -> Result<Backfill> {
        self.read(|state| state.backfill(backfill))
    }

    async fn backfills(
        &self,
        job: JobId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Backfill>> {
        self.read(|state| {
            let (from, mut to) = backfills_of(job);
            if let Some(before) = before {
                to = Key::Backfill(job, before).encode().to_vec();
            }
            let found = state.newest(&from, &to, limit, |_, value| Ok(decode(value).ok()))?;
            // One that cannot be read must not hide those after it.
            Ok(found.into_iter().flatten().collect())
        })
    }

    async fn switch_backfill(
        &self,
        backfill: BackfillId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Backfill> {
        self.step(now, |step| {
            let before = step.state.backfill(backfill)?;
            step.switch_backfill(&before, switch)
        })
        .await
    }

    async fn advance_backfills(&self, now: Timestamp, limit: usize) -> Result<Advanced> {
        if self.read(|state| Ok(state.index.backfills.is_empty()))? {
            return Ok(Advanced::default());
        }
        self.step(now, |step| step.advance_backfills(limit)).await
    }

    async fn ledger(&self, job: JobId, slots: &[Timestamp]) -> Result<Vec<Entry>> {
        self.read(|state| state.ledger(job, slots))
    }
}

impl State {
    fn backfill(&self, id: BackfillId) -> Result<Backfill> {
        for job in self.jobs_tagged(id.tag())? {
            let (from, to) = backfills_of(job);
            let mut found = None;
            visit_entries(self.kv.as_ref(), (&from, &to), Order::Descending, |key, value| {
                let number = sequence_in(key).unwrap_or(0);
                if BackfillId::of(job, number) == id {
                    found = Some(decode(value)?);
                    return Ok(ControlFlow::Break(()));
                }
                Ok(ControlFlow::Continue(()))
            })?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Err(Error::NoSuchBackfill(id))
    }

    /// What is known of the executions of these slots.
    fn ledger(&self, job: JobId, slots: &[Timestamp]) -> Result<Vec<Entry>> {
        let live = self.index.live_of(job).into_iter();
        let asked = |execution: &&Execution| slots.contains(&execution.slot);
        let mut entries: Vec<Entry> = live.filter(asked).filter_map(Entry::of).collect();
        for slot in slots {
            let (first, last) = ExecutionId::of_slot(*slot);
            let (from, to) = past_between(self.volumes.of(first), job, (first, last));
            visit_entries(self.kv.as_ref(), (&from, &to), Order::Ascending, |_, value| {
                let execution: Execution = decode(value)?;
                // Slots of one millisecond share a place.
                let is_it = execution.slot == *slot;
                entries.extend(Entry::of(&execution).filter(|_| is_it));
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(entries)
    }
}

impl Step<'_> {
    fn create_backfill(&mut self, new: Backfill) -> Result<Backfill> {
        let (job, now) = (new.job, self.now);
        new.check(&self.open(job)?.job, now)?;
        let (from, to) = backfills_of(job);
        let (mut newest, mut over, mut unfinished) = (0, Vec::new(), 0);
        visit_entries(self.state.kv.as_ref(), (&from, &to), Order::Ascending, |key, value| {
            newest = sequence_in(key).unwrap_or(0);
            match decode::<Backfill>(value) {
                Ok(backfill) if !backfill.is_over() => unfinished += 1,
                // One that cannot be read goes with those that are over.
                _ => over.push(newest),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if unfinished >= Backfill::MOST_UNFINISHED {
            return Err(Error::TooManyBackfills(Backfill::MOST_UNFINISHED));
        }
        let excess = (over.len() + 1).saturating_sub(Backfill::KEPT);
        for number in over.into_iter().take(excess) {
            self.delete(&Key::Backfill(job, number));
        }
        let new = Backfill { number: newest + 1, ..new };
        self.decide(job, None, new.created())?;
        self.put_backfill(new.clone())?;
        self.tell_of_backfill();
        Ok(new)
    }

    fn put_backfill(&mut self, backfill: Backfill) -> Result<()> {
        let place = (backfill.job, backfill.number);
        self.put(&Key::Backfill(place.0, place.1), &backfill)?;
        self.over.retain(|over| (over.job, over.number) != place);
        if backfill.is_over() {
            self.state.index.backfills.remove(&place);
            // The engine does not see it before the commit.
            self.over.push(backfill);
        } else {
            self.state.index.backfills.insert(place, backfill);
        }
        Ok(())
    }

    fn switch_backfill(&mut self, before: &Backfill, switch: Switch) -> Result<Backfill> {
        let (after, decision) = before.switched(switch, self.now)?;
        let Some(decision) = decision else {
            return Ok(after);
        };
        let job = after.job;
        self.decide(job, None, decision)?;
        self.put_backfill(after.clone())?;
        self.tell_of_backfill();
        if switch == Switch::Cancel {
            let live = self.state.index.live_of(job).into_iter();
            let own = live.filter(|execution| after.asked_for(execution));
            for execution in own.cloned().collect::<Vec<Execution>>() {
                self.ask_to_stop(&execution, CancelCause::User)?;
            }
            self.follow_up(job)?;
            self.settle(job)?;
        }
        Ok(after)
    }

    /// Cancels the backfills of a job that is switched off, whose runs are cancelled by that.
    pub(super) fn give_up_backfills(&mut self, job: JobId) -> Result<()> {
        for backfill in self.unfinished_backfills(job) {
            self.switch_backfill(&backfill, Switch::Cancel)?;
        }
        Ok(())
    }

    /// Forgets the backfills of a job that is deleted.
    pub(super) fn forget_backfills(&mut self, job: JobId) -> Result<()> {
        for backfill in self.unfinished_backfills(job) {
            let (_, decision) = backfill.switched(Switch::Cancel, self.now)?;
            if let Some(decision) = decision {
                self.decide(job, None, decision)?;
            }
            self.state.index.backfills.remove(&(job, backfill.number));
        }
        let (from, to) = backfills_of(job);
        let mut numbers = Vec::new();
        visit_entries(self.state.kv.as_ref(), (&from, &to), Order::Ascending, |key, _| {
            numbers.extend(sequence_in(key));
            Ok(ControlFlow::Continue(()))
        })?;
        for number in numbers {
            self.delete(&Key::Backfill(job, number));
        }
        Ok(())
    }

    fn unfinished_backfills(&self, job: JobId) -> Vec<Backfill> {
        let known = self.state.index.backfills.range((job, 0)..=(job, u64::MAX));
        known.map(|(_, backfill)| backfill.clone()).collect()
    }

    /// A backfill as this step leaves it so far, if it is there and can be read.
    fn known_backfill(&self, job: JobId, number: u64) -> Result<Option<Backfill>> {
        if let Some(known) = self.state.index.backfills.get(&(job, number)) {
            return Ok(Some(known.clone()));
        }
        let read = self.over.iter().find(|it| (it.job, it.number) == (job, number));
        match read {
            Some(known) => Ok(Some(known.clone())),
            None => Ok(readable(self.state.read(&Key::Backfill(job, number)))?.ok().flatten()),
        }
    }

    /// Notes that a slot of a backfill which had failed for good is tried again.
    pub(super) fn reopen_backfill(&mut self, job: JobId, number: u64) -> Result<()> {
        if let Some(backfill) = self.known_backfill(job, number)? {
            self.put_backfill(backfill.after_redrive(self.now))?;
        }
        Ok(())
    }

    /// Counts the runs of backfills that are over by this step, and have no next attempt.
    pub(super) fn count_filled_in(&mut self) -> Result<()> {
        for ended in std::mem::take(&mut self.filled_in) {
            let (job, number) = (ended.job, ended.trigger.backfill().unwrap_or(0));
            let lives_on = self
                .state
                .index
                .live_of(job)
                .into_iter()
                .any(|live| live.slot == ended.slot && live.trigger == ended.trigger);
            if lives_on {
                continue;
            }
            // That of a job which is gone is gone as well.
            let exists = readable(self.open(job).map(drop))?.is_ok();
            let known = if exists { self.known_backfill(job, number)? } else { None };
            let Some(backfill) = known else {
                continue;
            };
            let (after, decision) = backfill.after_end(&ended, self.now);
            if let Some(decision) = decision {
                self.decide(job, None, decision)?;
            }
            self.put_backfill(after)?;
            self.tell_of_backfill();
        }
        Ok(())
    }

    fn advance_backfills(&mut self, limit: usize) -> Result<Advanced> {
        let mut advanced = Advanced::default();
        let going_on = self.state.index.backfills.values().filter(|backfill| backfill.goes_on());
        let going_on: Vec<Backfill> = going_on.cloned().collect();
        // Each has its share, so that none keeps the others waiting.
        let share = (limit / going_on.len().max(1)).clamp(1, Advanced::SLOTS_AT_ONCE);
        for backfill in going_on {
            let job = backfill.job;
            let most = share.min(limit.saturating_sub(advanced.fired + advanced.passed_over));
            let taken = self.advance_one(&backfill, most, &mut advanced);
            if let Err(unreadable) = readable(taken)? {
                advanced.unreadable.push((job, unreadable));
                advanced.look_again(self.now.after(Advanced::LOOK_AGAIN));
            }
        }
        Ok(advanced)
    }

    /// Takes up to so many turns of one backfill.
    fn advance_one(
        &mut self,
        before: &Backfill,
        most: usize,
        advanced: &mut Advanced,
    ) -> Result<()> {
        let (job, now) = (before.job, self.now);
        let slots = before.upcoming(most);
        let mut ledger = self.state.ledger(job, &slots)?;
        // What this step has said already is not visible to the reading.
        ledger.extend(self.filled_in.iter().filter(|it| it.job == job).filter_map(Entry::of));
        let mut backfill = before.clone();
        let mut waits = None;
        for _ in &slots {
            let turned = self.ask(job, |job, live| turn(&backfill, job, live, &ledger, now))?;
            match turned {
                Turn::Fire { after, plan } => {
                    self.apply(job, &plan)?;
                    self.settle(job)?;
                    advanced.fired += 1;
                    backfill = *after;
                }
                Turn::PassOver { after, decision } => {
                    if let Some(decision) = decision {
                        self.decide(job, None, decision)?;
                    }
                    advanced.passed_over += 1;
                    backfill = *after;
                }
                Turn::Wait(wait) => {
                    waits = Some(wait);
                    break;
                }
                Turn::Rest => break,
            }
        }
        advanced.look_again_at(&backfill, waits, now);
        if backfill != *before {
            self.put_backfill(backfill)?;
        }
        Ok(())
    }
}
