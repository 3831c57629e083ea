//! Backfills on PostgreSQL: a row each, decided about and written under the lock of its job.

use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::account::Act;
use chronos_core::backfill::{Advanced, Backfill, Backfills, Entry, Switch, Turn, turn};
use chronos_core::execution::CancelCause;
use chronos_core::store::{Error, Result};
use chronos_core::{BackfillId, Execution, ExecutionId, JobId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use sqlx::types::Uuid;

use super::PostgresStore;
use super::fault::Outcome;
use super::rows::trigger_named;
use super::shared::{Shared, step};
use super::step::Step;
use super::values::{AsUuid as _, Fields, count, limit as rows_up_to, tag, time, uuids};

/// How often a node looks whether others made some, of which it was not told.
const SELDOM: Duration = Duration::from_secs(20);
/// Jobs whose backfills one step looks at.
const JOBS_PER_STEP: usize = 64;

fn decode(row: &PgRow) -> Result<Backfill> {
    let backfill: &str = Fields::of(row).get()?;
    serde_json::from_str(backfill)
        .map_err(|error| Error::Corrupt(format!("a backfill cannot be read: {error}")))
}

fn encode(backfill: &Backfill) -> Result<String> {
    serde_json::to_string(backfill)
        .map_err(|error| Error::Corrupt(format!("cannot write a backfill: {error}")))
}

fn next_at(backfill: &Backfill) -> Option<sqlx::types::chrono::DateTime<sqlx::types::chrono::Utc>> {
    backfill.goes_on().then(|| time(backfill.next_at))
}

fn entry(row: &PgRow) -> Result<Entry> {
    let fields = &mut Fields::of(row);
    let (id, slot) = (fields.id()?, fields.time()?);
    let (name, number): (&str, Option<i64>) = (fields.get()?, fields.get()?);
    let trigger = trigger_named(name, number, None)?;
    let attempt = fields.small()?;
    let (status, ran): (&str, bool) = (fields.get()?, fields.get()?);
    let known = ["QUEUED", "RUNNING", "SUCCESS", "FAILED", "TIMED_OUT", "STUCK", "CANCELLED"];
    let status = known.into_iter().find(|it| *it == status).unwrap_or("SKIPPED");
    Ok(Entry { id, slot, trigger, attempt, status, ran })
}

#[async_trait]
impl Backfills for PostgresStore {
    async fn create_backfill(&self, new: Backfill, now: Timestamp) -> Result<Backfill> {
        self.shared.create_backfill(&new, self.act(now)).await
    }

    async fn backfill(&self, backfill: BackfillId) -> Result<Backfill> {
        self.shared.backfill(backfill).await
    }

    async fn backfills(
        &self,
        job: JobId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Backfill>> {
        let before = before.map_or(i64::MAX, count);
        let query = self.shared.sql.backfills_read.query().bind(job.uuid()).bind(before);
        let rows = self.shared.fetch_all(query.bind(rows_up_to(limit))).await?;
        // One that cannot be read must not hide those after it.
        Ok(rows.iter().filter_map(|row| decode(row).ok()).collect())
    }

    async fn switch_backfill(
        &self,
        backfill: BackfillId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Backfill> {
        self.shared.switch_backfill(backfill, switch, self.act(now)).await
    }

    async fn advance_backfills(&self, now: Timestamp, limit: usize) -> Result<Advanced> {
        self.shared.advance_backfills(now, limit).await
    }

    async fn ledger(&self, job: JobId, slots: &[Timestamp]) -> Result<Vec<Entry>> {
        let rows = self.shared.fetch_all(self.shared.ledger_query(job, slots)).await?;
        let entries: Result<Vec<Entry>> = rows.iter().map(entry).collect();
        // Slots of one millisecond share a place.
        Ok(entries?.into_iter().filter(|entry| slots.contains(&entry.slot)).collect())
    }
}

impl Shared {
    async fn backfill(&self, id: BackfillId) -> Result<Backfill> {
        let row = self.fetch_optional(self.sql.backfill_read.query().bind(id.uuid())).await?;
        decode(&row.ok_or(Error::NoSuchBackfill(id))?)
    }

    async fn create_backfill(&self, new: &Backfill, act: Act) -> Result<Backfill> {
        let job = new.job;
        step!(self, act, |session, step| {
            self.lock_job(session, step, job).await?;
            new.check(step.desk(job)?.job()?, act.at)?;
            let query = self.sql.backfills_states.query().bind(job.uuid());
            let (mut newest, mut over, mut unfinished) = (0, Vec::new(), 0);
            for row in query.fetch_all(&mut **session).await? {
                let fields = &mut Fields::of(&row);
                newest = fields.count()?;
                if fields.get()? { over.push(count(newest)) } else { unfinished += 1 }
            }
            if unfinished >= Backfill::MOST_UNFINISHED {
                return Err(Error::TooManyBackfills(Backfill::MOST_UNFINISHED).into());
            }
            over.truncate((over.len() + 1).saturating_sub(Backfill::KEPT));
            if !over.is_empty() {
                let query = self.sql.backfills_delete.query().bind(job.uuid()).bind(over);
                query.execute(&mut **session).await?;
            }
            let made = Backfill { number: newest + 1, ..new.clone() };
            let query = self.sql.backfill_insert.query().bind(job.uuid());
            let query = query.bind(count(made.number)).bind(made.id().uuid());
            let query = query.bind(made.state.as_str()).bind(next_at(&made)).bind(encode(&made)?);
            query.execute(&mut **session).await?;
            step.decide(job, None, made.created());
            step.backfilled = true;
            Ok(made)
        })
    }

    async fn switch_backfill(&self, id: BackfillId, switch: Switch, act: Act) -> Result<Backfill> {
        // A backfill never changes its job.
        let job = self.backfill(id).await?.job;
        step!(self, act, |session, step| {
            self.lock_job(session, step, job).await?;
            let query = self.sql.backfills_unfinished.query().bind(job.uuid());
            let rows = query.fetch_all(&mut **session).await?;
            let found = rows.iter().filter_map(|row| decode(row).ok());
            let before = if let Some(before) = found.into_iter().find(|it| it.id() == id) {
                before
            } else {
                let query = self.sql.backfill_read.query().bind(id.uuid());
                let row = query.fetch_optional(&mut **session).await?;
                decode(&row.ok_or(Error::NoSuchBackfill(id))?)?
            };
            Ok(switch_one(step, &before, switch)?)
        })
    }

    /// Cancels the backfills of a job that is switched off, whose runs are cancelled by that.
    pub(super) async fn give_up_backfills(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        job: JobId,
    ) -> Outcome<()> {
        let query = self.sql.backfills_unfinished.query().bind(job.uuid());
        for row in query.fetch_all(connection).await? {
            // One that cannot be read does not go on.
            if let Ok(before) = decode(&row) {
                switch_one(step, &before, Switch::Cancel)?;
            }
        }
        Ok(())
    }

    /// Says that the backfills of a job which is deleted are given up; they go with it.
    pub(super) async fn forget_backfills(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        job: JobId,
    ) -> Outcome<()> {
        let query = self.sql.backfills_unfinished.query().bind(job.uuid());
        for row in query.fetch_all(connection).await? {
            let given_up = decode(&row).and_then(|it| it.switched(Switch::Cancel, step.now));
            if let Ok((_, Some(decision))) = given_up {
                step.decide(job, None, decision);
            }
        }
        Ok(())
    }

    /// Counts the runs of backfills that are over by this step, and have no next attempt; then writes what
    /// became of backfills.
    pub(super) async fn settle_backfills(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
    ) -> Outcome<()> {
        for ended in step.filled_in() {
            let (job, number) = (ended.job, ended.trigger.backfill().unwrap_or(0));
            let known = self.known_backfill(connection, step, (job, number)).await?;
            if let Some(backfill) = known {
                let (after, decision) = backfill.after_end(&ended, step.now);
                if let Some(decision) = decision {
                    step.decide(job, None, decision);
                }
                step.backfills.insert((job, number), after);
                step.backfilled = true;
            }
        }
        if step.backfills.is_empty() {
            return Ok(());
        }
        let changed = step.backfills.values();
        let jobs: Vec<Uuid> = changed.clone().map(|it| it.job.uuid()).collect();
        let numbers: Vec<i64> = changed.clone().map(|it| count(it.number)).collect();
        let states: Vec<&str> = changed.clone().map(|it| it.state.as_str()).collect();
        let next_ats: Vec<_> = changed.clone().map(next_at).collect();
        let texts: Result<Vec<String>> = changed.map(encode).collect();
        let query = self.sql.backfills_update.query().bind(jobs).bind(numbers).bind(states);
        query.bind(next_ats).bind(texts?).execute(connection).await?;
        Ok(())
    }

    /// A backfill as this step leaves it so far, if it is there and can be read.
    async fn known_backfill(
        &self,
        connection: &mut PgConnection,
        step: &Step,
        (job, number): (JobId, u64),
    ) -> Outcome<Option<Backfill>> {
        if let Some(known) = step.backfills.get(&(job, number)) {
            return Ok(Some(known.clone()));
        }
        let query = self.sql.backfill_lock.query().bind(job.uuid()).bind(count(number));
        let row = query.fetch_optional(connection).await?;
        Ok(row.and_then(|row| decode(&row).ok()))
    }

    /// Notes that a slot of a backfill which had failed for good is tried again.
    pub(super) async fn reopen_backfill(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        place: (JobId, u64),
    ) -> Outcome<()> {
        if let Some(backfill) = self.known_backfill(connection, step, place).await? {
            step.backfills.insert(place, backfill.after_redrive(step.now));
        }
        Ok(())
    }

    async fn advance_backfills(&self, now: Timestamp, limit: usize) -> Result<Advanced> {
        // Mostly there is none, and one statement says so, now and then.
        let first = self.first_time(self.sql.backfills_next.query()).await?;
        if first.is_none_or(|first| first > now) {
            let mut idle = Advanced::default();
            idle.look_again(now.after(SELDOM));
            if let Some(first) = first {
                idle.look_again(first);
            }
            return Ok(idle);
        }
        let after = *self.backfills_after.lock().unwrap_or_else(PoisonError::into_inner);
        let most = limit.min(JOBS_PER_STEP);
        let query = self.sql.backfills_due.query().bind(time(now)).bind(after);
        let rows = self.fetch_all(query.bind(rows_up_to(most))).await?;
        let jobs: Result<Vec<JobId>> = rows.iter().map(|row| Fields::of(row).id()).collect();
        let jobs = jobs?;
        // The next step goes on behind these, so that those which wait hold up no others.
        let more = jobs.len() == most;
        let place = jobs.last().filter(|_| more).map_or(Uuid::nil(), super::values::AsUuid::uuid);
        *self.backfills_after.lock().unwrap_or_else(PoisonError::into_inner) = place;
        let mut advanced = if jobs.is_empty() {
            Advanced::default()
        } else {
            step!(self, now, |session, step| {
                self.advance_all(session, step, &jobs, limit).await
            })?
        };
        if more {
            advanced.look_again(now);
        } else {
            // What waits for room is not told when there is some.
            advanced.look_again(now.after(Advanced::LOOK_AGAIN));
        }
        Ok(advanced)
    }

    async fn advance_all(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        jobs: &[JobId],
        limit: usize,
    ) -> Outcome<Advanced> {
        let query = self.sql.jobs_lock_free.query().bind(uuids(jobs));
        self.lock_jobs(connection, step, query).await?;
        let locked = uuids(step.desks.keys());
        let query = self.sql.backfills_lock.query().bind(locked).bind(time(step.now));
        let rows = query.fetch_all(&mut *connection).await?;
        // One that cannot be read does not go on, and says why when it is asked for.
        let found: Vec<Backfill> = rows.iter().filter_map(|row| decode(row).ok()).collect();
        let share = (limit / found.len().max(1)).clamp(1, Advanced::SLOTS_AT_ONCE);
        let mut advanced = Advanced::default();
        for backfill in found {
            let most = share.min(limit.saturating_sub(advanced.fired + advanced.passed_over));
            let job = backfill.job;
            if let Err(unreadable) = step.desk(job)?.job().map(drop) {
                advanced.unreadable.push((job, unreadable));
                continue;
            }
            let slots = backfill.upcoming(most);
            let mut ledger = Vec::new();
            if !slots.is_empty() {
                let query = self.ledger_query(job, &slots);
                for row in query.fetch_all(&mut *connection).await? {
                    ledger.push(entry(&row)?);
                }
            }
            step.add_to_ledger(job, &mut ledger);
            advance_one(step, &backfill, (slots.len(), &ledger), &mut advanced)?;
        }
        Ok(advanced)
    }

    fn ledger_query(&self, job: JobId, slots: &[Timestamp]) -> super::statements::Bound {
        let bounds: Vec<_> = slots.iter().map(|slot| ExecutionId::of_slot(*slot)).collect();
        let first: Vec<Uuid> = bounds.iter().map(|(first, _)| first.uuid()).collect();
        let last: Vec<Uuid> = bounds.iter().map(|(_, last)| last.uuid()).collect();
        let query = self.sql.ledger_read.query().bind(job.uuid()).bind(tag(job.tag()));
        query.bind(first).bind(last)
    }
}

/// Takes up to so many turns of one backfill.
fn advance_one(
    step: &mut Step,
    before: &Backfill,
    (turns, ledger): (usize, &[Entry]),
    advanced: &mut Advanced,
) -> Result<()> {
    let (job, now) = (before.job, step.now);
    let mut backfill = before.clone();
    let mut waits = None;
    for _ in 0..turns {
        match step.ask(job, |job, live| turn(&backfill, job, live, ledger, now))? {
            Turn::Fire { after, plan } => {
                step.apply(job, &plan)?;
                advanced.fired += 1;
                backfill = *after;
            }
            Turn::PassOver { after, decision } => {
                if let Some(decision) = decision {
                    step.decide(job, None, decision);
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
        step.backfills.insert((job, backfill.number), backfill);
    }
    Ok(())
}

fn switch_one(step: &mut Step, before: &Backfill, switch: Switch) -> Result<Backfill> {
    let (after, decision) = before.switched(switch, step.now)?;
    let Some(decision) = decision else {
        return Ok(after);
    };
    let job = after.job;
    step.decide(job, None, decision);
    step.backfills.insert((job, after.number), after.clone());
    step.backfilled = true;
    if switch == Switch::Cancel {
        let live = step.desk(job)?.live.iter().filter(|live| after.asked_for(live));
        for execution in live.cloned().collect::<Vec<Execution>>() {
            step.ask_to_stop(&execution, CancelCause::User)?;
        }
        step.follow_up(job)?;
    }
    Ok(after)
}

impl Step {
    /// Runs of backfills that are over by this step and have no next attempt, of jobs that are still there.
    fn filled_in(&self) -> Vec<Execution> {
        let ended = self.past.iter().map(|(ended, _)| ended);
        let filled_in = ended.filter(|ended| ended.trigger.backfill().is_some());
        let is_over = |ended: &&Execution| {
            let Some(desk) = self.desks.get(&ended.job).filter(|desk| !desk.row.deleted) else {
                return false;
            };
            let mut live = desk.live.iter();
            !live.any(|live| live.slot == ended.slot && live.trigger == ended.trigger)
        };
        filled_in.filter(is_over).cloned().collect()
    }

    /// Adds what this step has fired itself.
    fn add_to_ledger(&self, job: JobId, ledger: &mut Vec<Entry>) {
        let live = self.desks.get(&job).into_iter().flat_map(|desk| &desk.live);
        let past = self.past.iter().map(|(ended, _)| ended).filter(|ended| ended.job == job);
        ledger.extend(live.chain(past).filter_map(Entry::of));
    }
}
