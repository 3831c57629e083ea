//! Delivery: how far a subscription has come, who delivers, and what each outcome leads to.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Subscription;
use crate::execution::{Failure, Token};
use crate::store::Terms;
use crate::{JobId, SubscriptionId, Timestamp, WorkerId, notice};

/// An endpoint that asks for more patience than this gets this much.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// Bytes of an error that are kept.
const MAX_ERROR: usize = 1_024;

/// How far a subscription has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Every event that is heard, up to this sequence, was taken.
    pub cursor: u64,
    /// How many events were taken.
    pub delivered: u64,
    /// When one was taken last.
    pub delivered_at: Option<Timestamp>,
    /// Whether it goes on.
    pub state: State,
    /// Who delivers, while somebody does.
    pub lease: Option<Lease>,
    /// The newest token that was handed out.
    pub token: Token,
}

/// Whether a subscription goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Events are delivered as they come.
    Active,
    /// The next event was not taken, and is tried again.
    Failing(Failing),
    /// Nothing is delivered until somebody resumes it.
    Paused {
        /// Since when.
        since: Timestamp,
        /// What paused it.
        cause: Cause,
    },
}

/// What paused a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A person.
    Person,
    /// The next event was not taken too often.
    Failure {
        /// How that went.
        failing: Failing,
        /// The notice of it, while it is still to be told.
        notice: Option<Owed>,
    },
}

/// An event that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// When it was not taken first.
    pub since: Timestamp,
    /// How often it was not.
    pub failures: u32,
    /// Why not, the last time.
    pub error: Box<str>,
    /// The sequence of the event.
    pub event: u64,
    /// When it is tried again.
    pub next_attempt: Timestamp,
}

/// A notice that is still to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// How often that was tried.
    pub attempts: u32,
    /// When it is tried next.
    pub next_attempt: Timestamp,
}

/// A worker's right to deliver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who has it.
    pub worker: WorkerId,
    /// Until when, unless it is extended.
    pub until: Timestamp,
}

/// A worker's right to a subscription, as it names it in every report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The token of its lease.
    pub token: Token,
}

/// What a person asks of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// To deliver nothing.
    Pause,
    /// To go on after the event that was taken last.
    Resume,
}

/// What became of a worker's work on a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The endpoint has taken the event of this sequence: nothing that is heard is left up to it.
    Taken(u64),
    /// Nothing that is heard is left up to this sequence, and there was nothing to deliver.
    Passed(u64),
    /// The endpoint has not taken the event of this sequence.
    Refused {
        /// Which event.
        event: u64,
        /// Why not.
        failure: Failure,
        /// Whether the endpoint says that it will take no event again.
        gone: bool,
        /// Whether there is somebody to tell that the subscription is paused by it.
        tell: bool,
    },
    /// The notice that the subscription is paused was taken, or was not.
    Told(Result<(), Failure>),
    /// The worker stops.
    Released,
}

impl Delivery {
    /// The beginning: everything after this sequence is to be delivered.
    pub(super) fn from_after(cursor: u64) -> Self {
        Self {
            cursor,
            delivered: 0,
            delivered_at: None,
            state: State::Active,
            lease: None,
            token: Token(0),
        }
    }

    /// When a worker may take it; `None` while there is nothing to do.
    #[must_use]
    pub fn free_at(&self) -> Option<Timestamp> {
        let due = match &self.state {
            State::Active => Timestamp::EPOCH,
            State::Failing(failing) => failing.next_attempt,
            State::Paused { cause: Cause::Failure { notice: Some(owed), .. }, .. } => {
                owed.next_attempt
            }
            State::Paused { .. } => return None,
        };
        Some(self.lease.as_ref().map_or(due, |lease| due.max(lease.until)))
    }

    /// Whether events are delivered now, without a wait.
    #[must_use]
    pub fn goes_on(&self, now: Timestamp) -> bool {
        match &self.state {
            State::Active => true,
            State::Failing(failing) => failing.next_attempt <= now,
            State::Paused { .. } => false,
        }
    }

    /// How the next event fails, or the one that paused the subscription.
    #[must_use]
    pub fn failing(&self) -> Option<&Failing> {
        match &self.state {
            State::Failing(failing)
            | State::Paused { cause: Cause::Failure { failing, .. }, .. } => Some(failing),
            State::Active | State::Paused { cause: Cause::Person, .. } => None,
        }
    }

    /// The same; what failed is tried again now.
    pub(super) fn tried_at(mut self, now: Timestamp) -> Self {
        if let State::Failing(failing) = &mut self.state {
            failing.next_attempt = failing.next_attempt.min(now);
        }
        self
    }

    /// The same without a lease, as for whoever knows that its worker is gone.
    #[must_use]
    pub fn released(self) -> Self {
        Self { lease: None, ..self }
    }

    fn extend(&mut self, terms: Terms) {
        if let Some(lease) = &mut self.lease {
            lease.until = terms.now.after(terms.lease);
        }
    }
}

impl Subscription {
    /// The subscription in the hands of a worker, if it may take it now.
    #[must_use]
    pub fn claimed(&self, worker: &WorkerId, terms: Terms) -> Option<Self> {
        self.delivery.free_at().filter(|at| *at <= terms.now)?;
        let mut claimed = self.clone();
        claimed.delivery.token = Token(self.delivery.token.0 + 1);
        let until = terms.now.after(terms.lease);
        claimed.delivery.lease = Some(Lease { worker: worker.clone(), until });
        Some(claimed)
    }

    /// Whether the lease is the one of this hold.
    #[must_use]
    pub fn is_held_by(&self, hold: Hold) -> bool {
        self.id == hold.subscription
            && self.delivery.token == hold.token
            && self.delivery.lease.is_some()
    }

    /// The right of whoever has claimed it.
    #[must_use]
    pub fn hold(&self) -> Hold {
        Hold { subscription: self.id, token: self.delivery.token }
    }

    /// The subscription with its lease extended.
    #[must_use]
    pub fn renewed(&self, terms: Terms) -> Self {
        let mut renewed = self.clone();
        renewed.delivery.extend(terms);
        renewed
    }

    /// The subscription as a person asked for it to be. Whoever delivers at the moment may still report.
    #[must_use]
    pub fn switched(&self, switch: Switch, now: Timestamp) -> Self {
        let mut switched = self.clone();
        match (switch, &self.delivery.state) {
            (Switch::Pause, State::Active | State::Failing(_)) => {
                switched.delivery.state = State::Paused { since: now, cause: Cause::Person };
            }
            (Switch::Resume, State::Paused { .. }) => switched.delivery.state = State::Active,
            (Switch::Pause, State::Paused { .. })
            | (Switch::Resume, State::Active | State::Failing(_)) => {}
        }
        switched
    }

    /// What a worker's report makes of the subscription. Whoever reports a failure gives up the lease: the
    /// next attempt may be another's.
    #[must_use]
    pub fn reported(&self, report: Report, terms: Terms) -> Self {
        let (mut reported, now) = (self.clone(), terms.now);
        let delivery = &mut reported.delivery;
        match report {
            Report::Taken(sequence) => {
                delivery.cursor = delivery.cursor.max(sequence);
                delivery.delivered += 1;
                delivery.delivered_at = Some(now);
                if matches!(delivery.state, State::Failing(_)) {
                    delivery.state = State::Active;
                }
                delivery.extend(terms);
            }
            Report::Passed(sequence) => {
                delivery.cursor = delivery.cursor.max(sequence);
                delivery.extend(terms);
            }
            Report::Refused { event, failure, gone, tell } => {
                delivery.lease = None;
                // One that a person has paused meanwhile stays as it was asked to be.
                if !matches!(self.delivery.state, State::Paused { .. }) {
                    let failing = self.failed(event, &failure, now);
                    let is_over = gone || failing.failures > self.retry.max_retry;
                    delivery.state = if is_over {
                        let notice = tell.then_some(Owed { attempts: 0, next_attempt: now });
                        State::Paused { since: now, cause: Cause::Failure { failing, notice } }
                    } else {
                        State::Failing(failing)
                    };
                }
            }
            Report::Told(outcome) => {
                delivery.lease = None;
                if let State::Paused { since, cause: Cause::Failure { notice, .. } } =
                    &mut delivery.state
                {
                    *notice = outcome
                        .err()
                        .and(*notice)
                        .and_then(|owed| self.told_again(owed, *since, now));
                }
            }
            Report::Released => delivery.lease = None,
        }
        reported
    }

    /// How the event fails, after one more failure.
    fn failed(&self, event: u64, failure: &Failure, now: Timestamp) -> Failing {
        let before = match &self.delivery.state {
            State::Failing(failing) if failing.event == event => Some(failing),
            _ => None,
        };
        let since = before.map_or(now, |before| before.since);
        let failures = before.map_or(1, |before| before.failures.saturating_add(1));
        let asked = failure.retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
        let wait = self.retry.delay(self.spread(), since, failures - 1).max(asked);
        let error = &failure.message[..failure.message.floor_char_boundary(MAX_ERROR)];
        Failing { since, failures, error: error.into(), event, next_attempt: now.after(wait) }
    }

    /// The notice that was not taken, unless it has been tried often enough.
    fn told_again(&self, owed: Owed, since: Timestamp, now: Timestamp) -> Option<Owed> {
        let wait = notice::RETRY.delay(self.spread(), since, owed.attempts);
        let attempts = owed.attempts + 1;
        let again = Owed { attempts, next_attempt: now.after(wait) };
        (attempts <= notice::RETRY.max_retry).then_some(again)
    }

    /// What waits are spread by, so that subscriptions which failed together do not return together.
    fn spread(&self) -> JobId {
        JobId::from_bytes(*self.id.as_bytes())
    }
}
