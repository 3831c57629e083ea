//! A courier: delivers the events of one subscription, one after the other, for as long as it holds it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::account::{self, Role};
use chronos_core::store::{EventPage, Terms};
use chronos_core::subscription::{Cause, Error, Report, State};
use chronos_core::{MessageEvent, Subscription, UserId};
use tracing::{info, warn};

use super::letter::{self, Letter};
use super::{Office, seat::Seat};
use crate::http::Unsent;

/// Events that are read at a time.
const PAGE: usize = 64;
/// How far a courier looks at events that are not for it before that is put on record.
const PASSED: u64 = 1_000;
/// How long a courier that finds nothing waits before it looks at its subscription again.
const IDLE: Duration = Duration::from_mins(1);
/// How long after a failure of the store it is asked again.
const PAUSE: Duration = Duration::from_millis(500);
/// An endpoint that answers this will take nothing again.
const GONE: u16 = 410;

/// Delivers the events of one subscription.
pub(super) struct Courier {
    office: Arc<Office>,
    seat: Arc<Seat>,
    subscription: Subscription,
    /// Everything up to here was looked at, and is not heard or was taken.
    scanned: u64,
}

/// Whether there is more to do.
type Flow = ControlFlow<()>;

impl Courier {
    pub(super) fn new(office: Arc<Office>, seat: Arc<Seat>, subscription: Subscription) -> Self {
        let scanned = subscription.delivery.cursor;
        Self { office, seat, subscription, scanned }
    }

    /// Delivers until there is nothing to do for now, or the hold is lost.
    pub(super) async fn run(mut self) {
        let (office, seat) = (self.office.clone(), self.seat.clone());
        let is_lost = tokio::select! {
            biased;
            () = seat.fenced(&office) => true,
            () = office.closed.cancelled() => false,
            () = async { while self.turn().await.is_continue() {} } => false,
        };
        if is_lost {
            self.tell_lost();
        }
    }

    /// Delivers what there is, or waits for it.
    async fn turn(&mut self) -> Flow {
        if self.office.closing.is_cancelled() {
            return self.release().await;
        }
        let now = self.office.clock.now();
        match &self.subscription.delivery.state {
            State::Paused { cause: Cause::Failure { notice: Some(_), .. }, .. } => {
                return self.tell().await;
            }
            State::Paused { .. } => return self.release().await,
            State::Failing(failing) if failing.next_attempt > now => return self.release().await,
            State::Active | State::Failing(_) => {}
        }
        let page = tokio::select! {
            biased;
            () = self.office.closing.cancelled() => return Flow::Continue(()),
            () = self.seat.changed_from(&self.subscription) => return self.look_again().await,
            page = self.next_page() => page,
        };
        self.deliver(page).await
    }

    /// What comes next; a page without events says how far the log was looked at.
    async fn next_page(&self) -> EventPage {
        let mut follower =
            self.office.events.follow(self.subscription.filter.reading(), self.scanned);
        match follower.next_within(PAGE, IDLE).await {
            Ok(page) => page,
            Err(error) => {
                warn!(subscription = %self.subscription.id, %error, "Events not read");
                tokio::time::sleep(PAUSE).await;
                EventPage { cursor: self.scanned, ..EventPage::default() }
            }
        }
    }

    /// Delivers the events of a page that are heard, in order, up to the first that is not taken.
    async fn deliver(&mut self, page: EventPage) -> Flow {
        let mut events = page.events;
        events.retain(|event| self.subscription.filter.matches(event));
        let owner = &self.subscription.owner;
        if events.iter().any(|event| event.message.actor != *owner) && !self.hears_all().await {
            events.retain(|event| event.message.actor == *owner);
        }
        if !events.is_empty() {
            let version = self.subscription.version;
            // Somebody may have changed or removed the subscription while there was nothing to send.
            self.look_again().await?;
            for event in events {
                let now = self.office.clock.now();
                let is_changed = self.subscription.version != version;
                if is_changed || !self.subscription.delivery.goes_on(now) {
                    return Flow::Continue(());
                }
                if self.office.closing.is_cancelled() {
                    return self.release().await;
                }
                self.send(&event).await?;
            }
        }
        self.scanned = self.scanned.max(page.cursor);
        if self.scanned.saturating_sub(self.subscription.delivery.cursor) >= PASSED {
            return self.report(Report::Passed(self.scanned)).await;
        }
        Flow::Continue(())
    }

    /// Whether the owner may hear the jobs of everyone. It may have been an admin when it subscribed, and be
    /// none by now.
    async fn hears_all(&self) -> bool {
        let (owner, accounts) = (&*self.subscription.owner, &self.office.config.accounts);
        // Whoever runs the daemon has no account.
        let Some(accounts) = accounts.as_ref().filter(|_| !owner.is_empty()) else {
            return true;
        };
        let Ok(user) = owner.parse::<UserId>() else {
            return false;
        };
        loop {
            match accounts.user(user).await {
                Ok(user) => return user.role == Role::Admin && !user.disabled,
                Err(account::Error::Store(error)) => {
                    self.wait_for_store(&error).await;
                }
                Err(_) => return false,
            }
        }
    }

    /// Sends one event, and puts on record what became of it.
    async fn send(&mut self, event: &MessageEvent) -> Flow {
        let sequence = event.sequence;
        let letter = Letter::of(&self.subscription, event, self.office.config.write);
        let sent = match &letter {
            Ok(letter) => self.office.caller.push(&letter.push(&self.subscription)).await,
            Err(failure) => Err(failure.clone().into()),
        };
        let Err(Unsent { failure, status }) = sent else {
            return self.report(Report::Taken(sequence)).await;
        };
        let subscription = self.subscription.id;
        warn!(%subscription, sequence, error = %failure.message, "Event not taken");
        let (gone, tell) = (status == Some(GONE), self.office.config.webhook.is_some());
        self.report(Report::Refused { event: sequence, failure, gone, tell }).await?;
        if let State::Paused { .. } = &self.subscription.delivery.state {
            warn!(%subscription, name = %self.subscription.name, "Subscription paused");
        }
        // The lease went with the report: the next attempt, or the notice, is for whoever takes it then.
        self.remind();
        Flow::Break(())
    }

    /// Tells that the subscription is paused because its endpoint fails.
    async fn tell(&mut self) -> Flow {
        let told = letter::tell(&self.office, &self.subscription).await;
        if let Err(failure) = &told {
            warn!(subscription = %self.subscription.id, error = %failure.message, "Notice not taken");
        }
        self.report(Report::Told(told)).await?;
        self.remind();
        Flow::Break(())
    }

    async fn release(&mut self) -> Flow {
        self.report(Report::Released).await?;
        Flow::Break(())
    }

    /// Has the subscription looked for again when there is something to do.
    fn remind(&self) {
        if let Some(at) = self.subscription.delivery.free_at() {
            self.office.remind(at);
        }
    }

    fn terms(&self) -> Terms {
        Terms { now: self.office.clock.now(), lease: self.office.config.lease }
    }

    /// Reads the subscription as it is by now.
    async fn look_again(&mut self) -> Flow {
        loop {
            let (asked, terms) = (self.office.clock.monotonic(), self.terms());
            let holds = [self.seat.hold];
            match self.office.subscriptions.renew_subscriptions(&holds, terms).await {
                Ok(renewed) => {
                    let Some(subscription) = renewed.into_iter().next().flatten() else {
                        self.tell_lost();
                        return Flow::Break(());
                    };
                    self.seat.renew(asked);
                    self.adopt(subscription);
                    return Flow::Continue(());
                }
                Err(error) => self.wait_for_store(&error).await,
            }
        }
    }

    /// Puts something on record. A store that does not answer is asked again for as long as the hold lasts:
    /// what was taken would be sent again otherwise.
    async fn report(&mut self, report: Report) -> Flow {
        loop {
            let (asked, terms) = (self.office.clock.monotonic(), self.terms());
            let reported =
                self.office.subscriptions.report_delivery(self.seat.hold, report.clone(), terms);
            match reported.await {
                Ok(subscription) => {
                    if subscription.delivery.lease.is_some() {
                        self.seat.renew(asked);
                    }
                    self.adopt(subscription);
                    return Flow::Continue(());
                }
                Err(Error::LeaseLost(_) | Error::NoSuchSubscription(_)) => {
                    self.tell_lost();
                    return Flow::Break(());
                }
                Err(error) => self.wait_for_store(&error).await,
            }
        }
    }

    /// It is another's by now, or is gone.
    fn tell_lost(&self) {
        info!(subscription = %self.seat.hold.subscription, "Subscription lost");
    }

    async fn wait_for_store(&self, error: &(dyn std::error::Error + Sync)) {
        warn!(subscription = %self.subscription.id, %error, "Delivery waits for the store");
        tokio::time::sleep(PAUSE).await;
    }

    fn adopt(&mut self, subscription: Subscription) {
        if subscription.version != self.subscription.version {
            // What was not heard until now may be from here on.
            self.scanned = subscription.delivery.cursor;
        }
        self.seat.see(&subscription);
        self.subscription = subscription;
    }
}
