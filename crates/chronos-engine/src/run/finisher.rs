//! The finisher: reports the ends of runs to the store, many at a time.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::execution::Report;
use chronos_core::plan::Ending;
use chronos_core::store::{self, Error, Finish, Hold};
use chronos_core::{JobSpec, Timestamp};
use tracing::warn;

use super::roster::Entry;
use super::{Shared, Tick};

/// A run that is over and not yet reported.
#[derive(Clone)]
pub(crate) struct Ended {
    spec: Arc<JobSpec>,
    is_notice: bool,
    finish: Finish,
}

impl Shared {
    /// Takes a run off the roster and hands its end over. Does nothing for one that is off already:
    /// its end was decided by someone else.
    pub(crate) fn complete(&self, hold: Hold, ending: Ending) {
        let was_waited_for = self.roster.take(hold, |entry| self.hand_over(entry, ending));
        if was_waited_for {
            // What begins in its place need not wait until its end is on record.
            self.bells.claim.notify_one();
        }
    }

    fn ended(&self) -> MutexGuard<'_, VecDeque<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many ends a turn reports.
    fn turn(&self) -> usize {
        2 * self.config.batch
    }

    pub(super) fn hand_over(&self, entry: &Entry, ending: Ending) {
        let ending = match ending {
            // Whoever was asked to stop and then ended, was stopped.
            Ending::Success | Ending::Failed(_) if entry.stop_asked => Ending::Cancelled,
            ending => ending,
        };
        let report = Report {
            at: self.clock.now(),
            took: Some(self.clock.monotonic().saturating_sub(entry.began)),
            log: entry.context.take_log(),
            response: entry.context.take_response(),
        };
        let finish = Finish { hold: entry.context.hold(), ending, report };
        let is_notice = entry.context.is_notice();
        let ended = Ended { spec: entry.context.spec().clone(), is_notice, finish };
        let mut waiting = self.ended();
        waiting.push_back(ended);
        // Whoever finds others waiting need not ring, unless those who wait for more have enough.
        if waiting.len() == 1 || waiting.len() == self.turn() {
            self.bells.finish.notify_one();
        }
    }
}

/// Reports the ends of runs to the store, two batches at a turn.
pub struct Finisher {
    shared: Arc<Shared>,
    /// Since when ends have waited for beginnings.
    waiting_since: Option<Duration>,
}

/// Ends may wait for beginnings this long, and no more than this many.
const PATIENCE: Duration = Duration::from_millis(100);
const MOST_WAITING: usize = 16_384;

impl Finisher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, waiting_since: None }
    }

    fn next_batch(&self) -> Vec<Ended> {
        let mut ended = self.shared.ended();
        let count = ended.len().min(self.shared.config.batch);
        ended.drain(..count).collect()
    }

    fn put_back(&self, batch: Vec<Ended>) {
        let mut ended = self.shared.ended();
        for end in batch.into_iter().rev() {
            ended.push_front(end);
        }
    }

    /// How long ends should wait unless someone rings: in a second in which much begins, what begins is
    /// late and what ended is not.
    fn should_wait(&mut self) -> Option<Duration> {
        let (planning, claiming) = (&self.shared.bells.planning, &self.shared.bells.claiming);
        let busy = planning.are_more() || claiming.are_more();
        // While the store takes its time over beginnings there is time for a whole turn.
        let at_it = planning.are_asked_for() || claiming.are_asked_for();
        let enough = if at_it { self.shared.turn() } else { MOST_WAITING };
        if !busy || self.shared.ended().len() >= enough {
            self.waiting_since = None;
            return None;
        }
        let now = self.shared.clock.monotonic();
        let since = *self.waiting_since.get_or_insert(now);
        PATIENCE.checked_sub(now.saturating_sub(since)).filter(|left| !left.is_zero())
    }

    /// Reports a batch; says whether there was any.
    async fn report(&self) -> store::Result<bool> {
        let batch = self.next_batch();
        if batch.is_empty() {
            return Ok(false);
        }
        let shared = &self.shared;
        let finishes = batch.iter().map(|end| end.finish.clone()).collect();
        let answers = match shared.store.finish(finishes, shared.clock.now()).await {
            Ok(answers) => answers,
            Err(error) => {
                // Reporting again is safe: what was accepted once is refused the second time.
                self.put_back(batch);
                return Err(error);
            }
        };
        let mut ended = Vec::with_capacity(batch.len());
        for (end, answer) in batch.into_iter().zip(answers) {
            match answer {
                Ok(execution) => ended.push((end.spec, execution)),
                Err(Error::LeaseLost(execution)) => {
                    warn!(job = %end.spec.name, %execution, "Result dropped: the lease was lost");
                    shared.tell_lost(&end.spec, end.is_notice);
                }
                Err(error) => {
                    warn!(job = %end.spec.name, %error, "Result dropped");
                    shared.tell_lost(&end.spec, end.is_notice);
                }
            }
        }
        shared.tell_ended(ended);
        // There may be room again.
        shared.bells.claim.notify_one();
        Ok(true)
    }
}

#[async_trait]
impl Tick for Finisher {
    fn name(&self) -> &'static str {
        "finisher"
    }

    async fn tick(&mut self) -> store::Result<Option<Timestamp>> {
        if let Some(left) = self.should_wait() {
            return Ok(Some(self.shared.clock.now().after(left)));
        }
        // One batch is made ready and its answer read while the store is at the other.
        let (one, other) = tokio::join!(self.report(), self.report());
        Ok((one? | other?).then(|| self.shared.clock.now()))
    }

    async fn last(&mut self) -> store::Result<()> {
        while self.report().await? {}
        Ok(())
    }
}
