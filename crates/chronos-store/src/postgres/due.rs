//! The order of jobs that are due: those before the crowd and the crowd, each read from its own place on.

use std::sync::atomic::Ordering;
use std::time::Duration;

use chronos_core::plan;
use chronos_core::store::{Fired, Planned, Result, Taker};
use chronos_core::{JobId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::fault::Outcome;
use super::held::Holding;
use super::horizon::{Horizon, Horizons, Look, Place, first_at};
use super::rows::{StandingRow, standing};
use super::shared::{Shared, step};
use super::statements::Bound;
use super::step::{Desk, Step, Taking};
use super::values::{AsUuid as _, Fields, limit as rows_up_to, time, uuids};

/// Jobs that one planning step may lock.
const JOBS_PER_STEP: usize = 4_096;
/// Executions that one planning step may write before it leaves the rest to the next.
const ROWS_PER_STEP: usize = 4_096;

/// Whether jobs are of the crowd, on each side.
const SIDES: [bool; 2] = [false, true];

/// A look at both sides.
struct Looks<'a>([Look<'a>; 2]);

impl<'a> Looks<'a> {
    fn begin(horizons: &'a Horizons) -> Self {
        Self(horizons.due.each_ref().map(Horizon::look))
    }

    fn places(&self) -> Places {
        Places(self.0.each_ref().map(|look| look.from))
    }

    fn found_nothing_below(self, places: Places) {
        for (look, place) in self.0.into_iter().zip(places.0) {
            look.found_nothing_below(place);
        }
    }
}

/// A place on each side.
#[derive(Clone, Copy)]
struct Places([Place; 2]);

impl Places {
    fn bind(&self, query: Bound) -> Bound {
        let query = query.bind(SIDES.as_slice()).bind(self.0.map(|(at, _)| time(at)).to_vec());
        query.bind(self.0.map(|(_, id)| id).to_vec())
    }
}

/// When a job is due first on each side.
#[derive(Clone, Copy, Default)]
struct Firsts([Option<Timestamp>; 2]);

impl Firsts {
    fn of(rows: &[PgRow]) -> Result<Self> {
        let mut firsts = Self::default();
        for row in rows {
            let fields = &mut Fields::of(row);
            let crowd: bool = fields.get()?;
            firsts.0[usize::from(crowd)] = Some(fields.time()?);
        }
        Ok(firsts)
    }

    fn first(self) -> Option<Timestamp> {
        self.0.into_iter().flatten().min()
    }

    fn crowd_is_due(self, now: Timestamp) -> bool {
        self.0[1].is_some_and(|first| first <= now)
    }
}

/// What a step found on one side.
#[derive(Default)]
struct Side {
    /// How many it asked for.
    most: usize,
    found: Vec<Place>,
    planned: usize,
}

impl Side {
    /// Below which place nothing is left; `cut` says that the step asked for no more than it found.
    fn nothing_below(&self, from: Place, now: Timestamp, cut: bool) -> Place {
        let full = cut || self.found.len() >= self.most;
        match self.found.get(self.planned).or(self.found.last()) {
            Some(place) if full || self.planned < self.found.len() => *place,
            // Perhaps nobody looked.
            None if full => from,
            // What is due and was not found is in the hands of another planner.
            _ => first_at(now.after(Duration::from_micros(1))).max(from),
        }
    }
}

impl Shared {
    pub(super) async fn fire_due(
        &self,
        now: Timestamp,
        limit: usize,
        taker: Option<&Taker>,
    ) -> Result<Fired> {
        let (looks, asking) = (Looks::begin(&self.horizons), self.wakes.said_due.ask());
        let from = looks.places();
        if self.found_nothing_due.load(Ordering::Relaxed) {
            // Whoever found nothing mostly finds nothing again, and one statement says so.
            let query = from.bind(self.sql.due_next.query()).bind(self.aside());
            let next = Firsts::of(&self.fetch_all(query).await?)?.first();
            if next.is_none_or(|next| next > now) {
                asking.answer(next);
                return Ok(Fired { next, ..Fired::default() });
            }
        }
        let fired = step!(self, now, |session, step| {
            step.fires = true;
            self.fire_from(session, step, from, (limit, taker)).await
        });
        let (fired, held, nothing_below) = fired?;
        self.held.keep(held);
        for (job, _) in &fired.unreadable {
            self.set_aside(*job);
        }
        looks.found_nothing_below(nothing_below);
        asking.answer(fired.next);
        self.found_nothing_due.store(fired.planned.is_empty(), Ordering::Relaxed);
        Ok(fired)
    }

    /// Fires what is due at or after these places; says below which nothing is left.
    async fn fire_from(
        &self,
        connection: &mut PgConnection,
        step: &mut Step,
        from: Places,
        (limit, taker): (usize, Option<&Taker>),
    ) -> Outcome<(Fired, Vec<Holding>, Places)> {
        let most = limit.min(JOBS_PER_STEP);
        // Half of a step is the crowd's while some of it is due.
        let share = if self.crowd_is_due.load(Ordering::Relaxed) { most.div_ceil(2) } else { most };
        let mut sides = [share, most].map(|most| Side { most, ..Side::default() });
        let rows = if most > 0 {
            let query = from.bind(self.sql.due_lock.query());
            let query = query.bind(sides.each_ref().map(|side| rows_up_to(side.most)).to_vec());
            let query = query.bind(time(step.now)).bind(self.aside()).bind(rows_up_to(most));
            query.fetch_all(&mut *connection).await?
        } else {
            Vec::new()
        };
        let rows: Result<Vec<StandingRow>> =
            rows.iter().map(|row| standing(&mut Fields::of(row))).collect();
        let rows = rows?;
        let due: Vec<(bool, JobId)> = rows.iter().map(|row| (row.crowd, row.id)).collect();
        for row in &rows {
            let place = row.due.map(|due| (due, row.id.uuid()));
            sides[usize::from(row.crowd)].found.extend(place);
        }
        let mut fired = Fired::default();
        if !rows.is_empty() {
            self.open(connection, step, rows).await?;
            if let Some(taker) = taker.filter(|taker| taker.openings.any > 0) {
                let waited = self.has_waited(connection, step.now).await?;
                step.taking = Some(Taking::new(taker.clone(), waited));
            }
            let jobs: Vec<JobId> = due.iter().map(|(_, job)| *job).collect();
            step.storm = *self.storm();
            let planned = plan_all(step, &jobs, &mut fired)?;
            *self.storm() = step.storm;
            for (crowd, _) in &due[..planned] {
                sides[usize::from(*crowd)].planned += 1;
            }
            let wanted = step.taking.as_ref().map_or(0, |taking| taking.claims.len());
            let tokens = self.tokens(connection, wanted).await?;
            fired.claims = step.hand_out(tokens)?;
        }
        let (cut, now) = (due.len() >= most, step.now);
        let [few, crowd] = &sides;
        let nothing_below = Places([
            few.nothing_below(from.0[0], now, most == 0),
            crowd.nothing_below(from.0[1], now, cut),
        ]);
        let next = self.next_due(connection, step, nothing_below).await?;
        self.crowd_is_due.store(next.crowd_is_due(now), Ordering::Relaxed);
        fired.next = next.first();
        Ok((fired, step.holdings(), nothing_below))
    }

    /// When a job is due next on each side, among those at or after these places and those of the step.
    async fn next_due(
        &self,
        connection: &mut PgConnection,
        step: &Step,
        from: Places,
    ) -> Outcome<Firsts> {
        let passed_over = [self.aside(), uuids(step.desks.keys())].concat();
        let query = from.bind(self.sql.due_next.query()).bind(passed_over);
        let mut firsts = Firsts::of(&query.fetch_all(&mut *connection).await?)?;
        for desk in step.desks.values() {
            let first = &mut firsts.0[usize::from(desk.row.crowd)];
            *first = Desk::due_at(desk).into_iter().chain(*first).min();
        }
        Ok(firsts)
    }
}

/// Plans jobs in order, up to a bound of work; says how many were dealt with.
fn plan_all(step: &mut Step, due: &[JobId], fired: &mut Fired) -> Outcome<usize> {
    let (now, mut rows) = (step.now, 0);
    for (done, id) in due.iter().copied().enumerate() {
        if rows >= ROWS_PER_STEP {
            return Ok(done);
        }
        match step.ask(id, |job, live| (job.spec.clone(), plan::plan(job, live, now))) {
            Ok((spec, plan)) => {
                step.storm.count(&plan, now);
                // A long message counts for as many rows as it could be.
                let long = plan.messages.iter().map(|message| message.size() / 1_024);
                rows += plan.executions.len() + long.sum::<usize>();
                step.apply(id, &plan)?;
                fired.planned.push(Planned { spec, plan });
            }
            Err(unreadable) => {
                step.desks.remove(&id);
                fired.unreadable.push((id, unreadable));
            }
        }
    }
    Ok(due.len())
}
