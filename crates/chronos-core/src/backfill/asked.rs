//! Asking for a backfill: what can be asked for, and what is refused with a reason.

use serde::{Deserialize, Serialize};

use super::{Backfill, Counts, State, just_after, just_before};
use crate::job::Job;
use crate::schedule::Schedule;
use crate::store::Error as StoreError;
use crate::{Error, Timestamp};

/// Which slots come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Those that are longest past.
    #[default]
    OldestFirst,
    /// Those that are past most recently.
    NewestFirst,
}

impl Order {
    /// The order as it is given and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OldestFirst => "oldest_first",
            Self::NewestFirst => "newest_first",
        }
    }

    /// The order of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::OldestFirst, Self::NewestFirst].into_iter().find(|order| order.as_str() == name)
    }
}

/// How fast a backfill goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Slots under way at once; the job's overlap policy may allow fewer.
    pub at_once: u32,
    /// Slots that begin in a minute, evenly spread; as they come where nothing is said.
    pub per_minute: Option<u32>,
}

impl Rate {
    /// More at once are refused.
    pub const MAX_AT_ONCE: u32 = 100;
    /// More in a minute are refused.
    pub const MAX_PER_MINUTE: u32 = 6_000;
}

impl Default for Rate {
    fn default() -> Self {
        Self { at_once: 1, per_minute: None }
    }
}

/// What somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Slots from here on.
    pub from: Timestamp,
    /// And before here; as far as the schedule has come where nothing is said.
    pub to: Option<Timestamp>,
    /// Which come first.
    pub order: Order,
    /// How many at most.
    pub cap: u32,
    /// How fast.
    pub rate: Rate,
    /// Whether those run again that have run.
    pub force: bool,
}

impl Asked {
    /// All slots from an instant on, as usual.
    #[must_use]
    pub fn from(from: Timestamp) -> Self {
        let (order, cap, rate) = (Order::default(), Backfill::USUAL_CAP, Rate::default());
        Self { from, to: None, order, cap, rate, force: false }
    }

    /// Refuses figures that are out of bounds.
    fn check(&self) -> Result<(), Error> {
        let within = |field, given: u32, most: u32| {
            let problem = || format!("{given} is not accepted; use 1 to {most}");
            if (1..=most).contains(&given) { Ok(()) } else { Err(refusal(field, problem())) }
        };
        within("cap", self.cap, Backfill::MAX_CAP)?;
        within("rate.at_once", self.rate.at_once, Rate::MAX_AT_ONCE)?;
        let per_minute = self.rate.per_minute;
        per_minute.map_or(Ok(()), |it| within("rate.per_minute", it, Rate::MAX_PER_MINUTE))?;
        if self.from < Timestamp::EPOCH {
            let problem =
                format!("{} is not accepted; use 1970-01-01T00:00:00Z or later", self.from);
            return Err(refusal("from", problem));
        }
        Ok(())
    }
}

fn refusal(field: &'static str, problem: String) -> Error {
    Error::Backfill { field, problem }
}

impl Backfill {
    /// The backfill that is asked for; the store gives it its number. Its slots are counted here, which for
    /// long ranges takes a moment.
    pub fn new(job: &Job, asked: &Asked, now: Timestamp) -> Result<Self, Error> {
        asked.check()?;
        let schedule = &job.spec.schedule;
        check_schedule(schedule)?;
        let to = asked.to.unwrap_or_else(|| reach(job, now));
        let from = asked.from;
        if from >= to {
            let problem = match asked.to {
                Some(to) => format!("{to} is not accepted: it is not after from, which is {from}"),
                None => format!("from is {from}, and the schedule has come no further than {to}"),
            };
            return Err(refusal("to", problem));
        }
        let first = schedule.next_after(just_before(from)).filter(|first| *first < to);
        let first = first.ok_or_else(|| refusal("from", no_slot(schedule, from, to)))?;
        check_reach(job, to, now)?;
        let cap = u64::from(asked.cap);
        let next = |slot: &Timestamp| schedule.next_after(*slot).filter(|next| *next < to);
        let most = usize::try_from(cap + 1).unwrap_or(usize::MAX);
        let found = std::iter::successors(Some(first), next).take(most).count() as u64;
        let cursor = match asked.order {
            Order::OldestFirst => first,
            Order::NewestFirst => schedule.latest_until(just_before(to), first),
        };
        Ok(Self {
            job: job.spec.id,
            number: 0,
            from,
            to,
            order: asked.order,
            cap: asked.cap,
            rate: asked.rate,
            force: asked.force,
            schedule: schedule.clone(),
            total: found.min(cap),
            beyond_cap: found > cap,
            created_at: now,
            updated_at: now,
            state: State::Running,
            cursor: Some(cursor),
            next_at: now,
            counts: Counts::default(),
            error: None,
        })
    }

    /// Refuses it where its job has moved on since it was thought out: to another schedule, or back into its
    /// range.
    pub fn check(&self, job: &Job, now: Timestamp) -> Result<(), StoreError> {
        if job.spec.schedule != self.schedule {
            return Err(StoreError::ScheduleChanged(job.spec.name.to_string()));
        }
        Ok(check_reach(job, self.to, now)?)
    }
}

/// Refuses schedules whose past slots nobody can tell.
fn check_schedule(schedule: &Schedule) -> Result<(), Error> {
    let problem = if schedule.is_one_shot() {
        "the job runs once, at its own time, so there is no range to fill in; run it by hand"
    } else if schedule.counts_from_end() {
        "the job's slots are counted from the ends of its runs (fixed_delay), so those of the past cannot be \
         told; use a cron expression or an interval without fixed_delay"
    } else {
        return Ok(());
    };
    Err(refusal("from", problem.into()))
}

/// The first instant that is the schedule's own: its next slot, or what is still to come.
fn reach(job: &Job, now: Timestamp) -> Timestamp {
    let next = job.standing.next_slot.filter(|_| job.standing.enabled);
    next.map_or(just_after(now), |next| next.min(just_after(now)))
}

/// Refuses slots that the schedule has still to account for: they would run twice.
fn check_reach(job: &Job, to: Timestamp, now: Timestamp) -> Result<(), Error> {
    let reach = reach(job, now);
    let slot = job.spec.schedule.next_after(just_before(reach)).filter(|slot| *slot < to);
    let Some(slot) = slot else {
        return Ok(());
    };
    let why = if slot > now { "is still to come" } else { "has come, and is still the schedule's" };
    let problem = format!("{to} is not accepted: {slot} {why}; use {slot} or earlier");
    Err(refusal("to", problem))
}

fn no_slot(schedule: &Schedule, from: Timestamp, to: Timestamp) -> String {
    let words = schedule.describe();
    match schedule.next_after(just_before(from)) {
        Some(next) => format!(
            "the schedule \"{words}\" has no slot from {from} up to {to}; the next after that is {next}"
        ),
        None => format!("the schedule \"{words}\" has no slot from {from} on"),
    }
}
