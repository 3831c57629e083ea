//! The queue of executions that wait: one for each rank, each read from its own place on.

use std::sync::atomic::Ordering;

use chronos_core::policy::Rank;
use chronos_core::store::{Claimed, Openings, Result, Terms};
use chronos_core::{Execution, Timestamp, WorkerId};
use sqlx::PgConnection;

use super::executions::just_after;
use super::fault::Outcome;
use super::horizon::{Horizons, Look, Place, first_at};
use super::rows;
use super::shared::Shared;
use super::statements::Bound;
use super::step::Waited;
use super::values::{AsUuid as _, Fields, limit as rows_up_to, text, time};

/// Executions that one claim may hand out.
const CLAIMS_PER_STEP: usize = 4_096;

/// Of so many claims one has the crowd before the others, so that it has its turn whatever there is.
const CROWD_FIRST: u64 = 4;

/// A look at the queues of all ranks, by their numbers.
struct Looks<'a>([Look<'a>; Rank::COUNT]);

impl<'a> Looks<'a> {
    fn begin(horizons: &'a Horizons) -> Self {
        Self(horizons.ready.each_ref().map(super::horizon::Horizon::look))
    }

    fn places(&self) -> Places {
        Places(self.0.each_ref().map(|look| look.from))
    }

    fn found_nothing_below(self, places: &Places) {
        for (look, place) in self.0.into_iter().zip(&places.0) {
            look.found_nothing_below(*place);
        }
    }
}

/// The ranks before the crowd, or those of the crowd, in the order in which they are served.
fn ranks_of(crowd: bool) -> Vec<Rank> {
    Rank::by_turn().filter(|rank| rank.is_crowd() == crowd).collect()
}

/// Ranks that are looked at together, and how many executions of theirs are wanted.
struct Part {
    ranks: Vec<Rank>,
    most: usize,
}

/// What is looked at one after the other for these openings.
fn parts(openings: Openings, crowd_first: bool) -> Vec<Part> {
    let most = openings.any.min(CLAIMS_PER_STEP);
    let sides = if crowd_first { [true, false] } else { [false, true] };
    if openings.crowd >= most {
        // Nothing keeps the crowd's apart.
        return vec![Part { ranks: sides.map(ranks_of).concat(), most }];
    }
    let part =
        |crowd| Part { ranks: ranks_of(crowd), most: if crowd { openings.crowd } else { most } };
    sides.map(part).into()
}

/// A place in the queue of each rank, by its number.
#[derive(Clone)]
struct Places([Place; Rank::COUNT]);

impl Places {
    /// Binds ranks in the order in which they are served.
    fn bind(&self, query: Bound, ranks: &[Rank]) -> Bound {
        let numbers: Vec<i16> = ranks.iter().map(|rank| rank.number().into()).collect();
        self.bind_places(query.bind(numbers), ranks)
    }

    fn bind_places(&self, query: Bound, ranks: &[Rank]) -> Bound {
        let places = ranks.iter().map(|rank| self.0[number(*rank)]);
        let times: Vec<_> = places.clone().map(|(at, _)| time(at)).collect();
        query.bind(times).bind(places.map(|(_, id)| id).collect::<Vec<_>>())
    }

    /// Below which places nothing is left, once a look up to `now` at these ranks is over. `cut` is the last
    /// execution that was found, if more may follow it: its rank was left there, and those after it were not
    /// looked at.
    fn after(mut self, ranks: &[Rank], now: Timestamp, cut: Option<&Execution>) -> Self {
        // What has waited and was not found is in the hands of another worker.
        let beyond = first_at(just_after(now));
        for rank in ranks {
            let here = &mut self.0[number(*rank)];
            if let Some(last) = cut.filter(|last| last.rank == *rank) {
                *here = place(last);
                break;
            }
            *here = beyond.max(*here);
        }
        self
    }
}

fn number(rank: Rank) -> usize {
    rank.number().into()
}

fn place(execution: &Execution) -> Place {
    (execution.run_at, execution.id.uuid())
}

impl Shared {
    pub(super) async fn claim(
        &self,
        worker: &WorkerId,
        terms: Terms,
        openings: Openings,
    ) -> Result<Claimed> {
        let (looks, asking) = (Looks::begin(&self.horizons), self.wakes.said_ready.ask());
        let crowd_first =
            self.claims.fetch_add(1, Ordering::Relaxed) % CROWD_FIRST == CROWD_FIRST - 1;
        let (mut claims, mut rest, mut failed) = (Vec::new(), looks.places(), false);
        let most = openings.any.min(CLAIMS_PER_STEP);
        // Of those for whom there was no opening from the beginning, whoever makes one knows.
        let hopeless = openings.crowd == 0 && openings.any > 0;
        let asked_for = |rank: &Rank| !hopeless || !rank.is_crowd();
        let (mut next, mut known) = (None, true);
        for part in parts(openings, crowd_first) {
            let most = part.most.min(most - claims.len());
            if most == 0 || failed {
                known &= !part.ranks.iter().any(asked_for);
                continue;
            }
            match self.claim_from(&rest, &part.ranks, (worker, terms), most).await {
                // What was claimed is the worker's, so it must hear of it; it will ask again at once.
                Err(_) if !claims.is_empty() => failed = true,
                claimed => {
                    let (claimed, later) = claimed?;
                    let cut = claimed.last().filter(|_| claimed.len() == most);
                    known &= cut.is_none();
                    next = later.into_iter().chain(next).min();
                    rest = rest.after(&part.ranks, terms.now, cut.map(|(_, execution)| execution));
                    claims.extend(claimed);
                }
            }
        }
        if failed {
            next = Some(terms.now);
        } else if !known {
            let asked_for: Vec<Rank> = Rank::by_turn().filter(asked_for).collect();
            next = match self.first_time(self.first_ready(&rest, &asked_for)).await {
                Err(_) if !claims.is_empty() => Some(terms.now),
                next => next?,
            };
        }
        let claims = self.with_specs(claims).await?;
        looks.found_nothing_below(&rest);
        asking.answer(next);
        Ok(Claimed { claims, next })
    }

    /// Takes the most urgent, from these places on; gives back the executions in their order, each with the
    /// revision of its job's spec, and when the first may begin of those whose time has not come.
    async fn claim_from(
        &self,
        from: &Places,
        ranks: &[Rank],
        (worker, terms): (&WorkerId, Terms),
        most: usize,
    ) -> Result<(Vec<(i64, Execution)>, Option<Timestamp>)> {
        let query = from.bind(self.sql.ready_claim.query(), ranks);
        let query = query.bind(time(terms.now)).bind(self.aside()).bind(rows_up_to(most));
        let query = query.bind(text(worker.as_str()).into_owned());
        let query = query.bind(time(terms.now.after(terms.lease)));
        let later = from.clone().after(ranks, terms.now, None);
        let rows = self.fetch_all(later.bind_places(query, ranks)).await?;
        let (mut claims, mut next) = (Vec::with_capacity(rows.len()), None);
        for row in &rows {
            let fields = &mut Fields::of(row);
            next = fields.maybe_time()?;
            if fields.is_null() {
                break;
            }
            let execution = rows::claimed(fields, worker, terms)?;
            claims.push((fields.get()?, execution));
        }
        let turn = |rank: Rank| ranks.iter().position(|other| *other == rank);
        claims.sort_unstable_by_key(|(_, execution)| (turn(execution.rank), place(execution)));
        Ok((claims, next))
    }

    /// Asks when an execution of these ranks may begin first, of those at or after these places; and when one
    /// of those before the crowd.
    fn first_ready(&self, from: &Places, ranks: &[Rank]) -> Bound {
        from.bind(self.sql.ready_next.query(), ranks).bind(self.aside())
    }

    /// Whether executions wait whose time has come.
    pub(super) async fn has_waited(
        &self,
        connection: &mut PgConnection,
        now: Timestamp,
    ) -> Outcome<Waited> {
        let looks = Looks::begin(&self.horizons);
        let (from, ranks): (_, Vec<Rank>) = (looks.places(), Rank::by_turn().collect());
        let row = self.first_ready(&from, &ranks).fetch_one(&mut *connection).await?;
        let fields = &mut Fields::of(&row);
        let (any, few) = (fields.maybe_time()?, fields.maybe_time()?);
        let is_due = |first: Option<Timestamp>| first.is_some_and(|first| first <= now);
        if !is_due(any) {
            // What is taken as it is fired need not be walked over by the next who looks.
            looks.found_nothing_below(&from.after(&ranks, now, None));
        }
        Ok(Waited { few: is_due(few), crowd: is_due(any) })
    }
}
