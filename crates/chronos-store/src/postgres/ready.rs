//! The queue of executions that wait: one for each priority, each read from its own place on.

use std::cmp::Reverse;

use chronos_core::notice;
use chronos_core::store::{Claimed, Result, Terms};
use chronos_core::{Execution, Timestamp, WorkerId};
use sqlx::PgConnection;

use super::executions::just_after;
use super::fault::Outcome;
use super::horizon::{Horizons, LEVELS, Look, Place, first_at};
use super::rows::{self, StandingRow};
use super::shared::Shared;
use super::statements::Bound;
use super::values::{AsUuid as _, Fields, limit as rows_up_to, micros, text, time};

/// Executions that one claim may hand out.
const CLAIMS_PER_STEP: usize = 4_096;

/// A look at the queues of all priorities.
struct Looks<'a>([Look<'a>; LEVELS]);

impl<'a> Looks<'a> {
    fn begin(horizons: &'a Horizons) -> Self {
        Self(horizons.ready.each_ref().map(super::horizon::Horizon::look))
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

/// A place in the queue of each priority.
#[derive(Clone, Copy)]
struct Places([Place; LEVELS]);

impl Places {
    /// Binds the levels in the order in which they are served.
    fn bind(&self, query: Bound) -> Bound {
        let (mut levels, mut times, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for (level, (at, id)) in (0_i16..).zip(self.0) {
            levels.insert(0, level);
            times.insert(0, time(at));
            ids.insert(0, id);
        }
        query.bind(levels).bind(times).bind(ids)
    }

    /// Below which places nothing is left, once a look up to `now` from these ones is over. `cut` is the
    /// last execution that was found, if more may follow it: its level was left there, and those below
    /// were not looked at.
    fn after(self, now: Timestamp, cut: Option<&Execution>) -> Self {
        // What has waited and was not found is in the hands of another worker.
        let beyond = first_at(just_after(now));
        let mut level = 0;
        Self(self.0.map(|from| {
            let here = level;
            level += 1;
            match cut {
                Some(last) if here < level_of(last) => from,
                Some(last) if here == level_of(last) => place(last),
                _ => beyond.max(from),
            }
        }))
    }
}

fn level_of(execution: &Execution) -> usize {
    execution.priority.level().into()
}

fn place(execution: &Execution) -> Place {
    (execution.run_at, execution.id.uuid())
}

impl Shared {
    pub(super) async fn claim(
        &self,
        worker: &WorkerId,
        terms: Terms,
        limit: usize,
    ) -> Result<Claimed> {
        let (looks, asking) = (Looks::begin(&self.horizons), self.wakes.said_ready.ask());
        let most = limit.min(CLAIMS_PER_STEP);
        let (mut claims, mut rest) = (Vec::new(), looks.places());
        if most > 0 {
            claims = self.claim_from(rest, worker, terms, most).await?;
            let cut = claims.last().filter(|_| claims.len() == most);
            rest = rest.after(terms.now, cut.map(|(_, execution)| execution));
        }
        let next = match self.first_time(self.first_ready(rest)).await {
            // What was claimed is the worker's, so it must hear of it; it will ask again at once.
            Err(_) if !claims.is_empty() => Some(terms.now),
            next => next?,
        };
        let claims = self.with_specs(claims).await?;
        looks.found_nothing_below(rest);
        asking.answer(next);
        Ok(Claimed { claims, next })
    }

    /// Takes the most urgent, from these places on; gives back the executions in their order, each with
    /// where its job stands.
    async fn claim_from(
        &self,
        from: Places,
        worker: &WorkerId,
        terms: Terms,
        most: usize,
    ) -> Result<Vec<(StandingRow, Execution)>> {
        let query = from.bind(self.sql.ready_claim.query());
        let query = query.bind(time(terms.now)).bind(self.aside()).bind(rows_up_to(most));
        let query = query.bind(text(worker.as_str()).into_owned());
        let query = query.bind(time(terms.now.after(terms.lease)));
        let rows = self.fetch_all(query.bind(micros(notice::LIMIT))).await?;
        let mut claims = Vec::with_capacity(rows.len());
        for row in &rows {
            let fields = &mut Fields::of(row);
            let execution = rows::claimed(fields, worker, terms)?;
            claims.push((rows::standing(fields)?, execution));
        }
        claims
            .sort_unstable_by_key(|(_, execution)| (Reverse(execution.priority), place(execution)));
        Ok(claims)
    }

    /// Asks when an execution may begin first, of those at or after these places.
    fn first_ready(&self, from: Places) -> Bound {
        from.bind(self.sql.ready_next.query()).bind(self.aside())
    }

    /// Whether an execution waits whose time has come.
    pub(super) async fn has_waited(
        &self,
        connection: &mut PgConnection,
        now: Timestamp,
    ) -> Outcome<bool> {
        let from = Looks::begin(&self.horizons).places();
        let first = self.first_ready(from).fetch_optional(&mut *connection).await?;
        let first = first.map(|row| Fields::of(&row).maybe_time()).transpose()?.flatten();
        Ok(first.is_some_and(|first| first <= now))
    }
}
