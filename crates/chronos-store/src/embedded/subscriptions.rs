//! Subscriptions in the embedded store: few and small, so all of them are held in memory.

use std::ops::Bound::{Excluded, Unbounded};

use async_trait::async_trait;
use chronos_core::store::{self, Terms};
use chronos_core::subscription::{
    Error, Hold, Report, Result, Subscription, Subscriptions, Switch,
};
use chronos_core::{SubscriptionId, Timestamp, WorkerId};

use super::EmbeddedStore;
use super::keys::Key;
use super::state::State;
use super::step::Step;

impl EmbeddedStore {
    /// Runs a verb about subscriptions as one step. One that refuses has written nothing.
    async fn subscription_step<T>(
        &self,
        now: Timestamp,
        verb: impl FnOnce(&mut Step<'_>) -> Result<T>,
    ) -> Result<T> {
        let answered = self.step(now, |step| match verb(step) {
            Err(Error::Store(error)) => Err(error),
            answer => Ok(answer),
        });
        answered.await?
    }

    /// Takes every subscription from whoever holds it. For whoever alone has the store and has handed out
    /// nothing of it yet: then every lease in it is that of a process that is gone.
    pub(super) async fn release_subscriptions(&self) -> store::Result<()> {
        self.step(Timestamp::EPOCH, |step| {
            let held = step.state.index.subscriptions.values();
            let held = held.filter(|subscription| subscription.delivery.lease.is_some());
            for subscription in held.cloned().collect::<Vec<_>>() {
                let delivery = subscription.delivery.clone().released();
                step.put_subscription(Subscription { delivery, ..subscription })?;
            }
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl Subscriptions for EmbeddedStore {
    async fn create_subscription(&self, new: Subscription, most: Option<u64>) -> Result<()> {
        self.subscription_step(new.created_at, |step| step.create_subscription(new, most)).await
    }

    async fn edit_subscription(
        &self,
        edit: Subscription,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Subscription> {
        self.subscription_step(now, |step| step.edit_subscription(edit, expected)).await
    }

    async fn switch_subscription(
        &self,
        subscription: SubscriptionId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Subscription> {
        self.subscription_step(now, |step| {
            let before = step.state.subscription(subscription)?;
            let switched = before.switched(switch, now);
            if switched != before {
                step.put_subscription(switched.clone())?;
            }
            Ok(switched)
        })
        .await
    }

    async fn delete_subscription(&self, subscription: SubscriptionId) -> Result<()> {
        self.subscription_step(Timestamp::EPOCH, |step| {
            // One that cannot be read can still be deleted.
            if !step.state.exists(&Key::Subscription(subscription))? {
                return Err(Error::NoSuchSubscription(subscription));
            }
            step.state.index.subscriptions.remove(&subscription);
            step.delete(&Key::Subscription(subscription));
            Ok(())
        })
        .await
    }

    async fn subscription(&self, subscription: SubscriptionId) -> Result<Subscription> {
        self.read(|state| Ok(state.subscription(subscription)))?
    }

    async fn subscriptions(
        &self,
        owner: Option<&str>,
        after: Option<SubscriptionId>,
        limit: usize,
    ) -> Result<Vec<Subscription>> {
        Ok(self.read(|state| {
            let from = after.map_or(Unbounded, Excluded);
            let found = state.index.subscriptions.range((from, Unbounded));
            let found = found.map(|(_, subscription)| subscription);
            let is_asked = |it: &&Subscription| owner.is_none_or(|owner| *it.owner == *owner);
            Ok(found.filter(is_asked).take(limit).cloned().collect())
        })?)
    }

    async fn claim_subscriptions(
        &self,
        worker: &WorkerId,
        terms: Terms,
        limit: usize,
    ) -> Result<Vec<Subscription>> {
        self.subscription_step(terms.now, |step| {
            let known = step.state.index.subscriptions.values();
            let free = known.filter_map(|it| Some((it.delivery.free_at()?, it)));
            let mut free: Vec<_> = free.filter(|(at, _)| *at <= terms.now).collect();
            free.sort_by_key(|(at, subscription)| (*at, subscription.id));
            let claimed = free.iter().filter_map(|(_, it)| it.claimed(worker, terms));
            let claimed: Vec<_> = claimed.take(limit).collect();
            for subscription in &claimed {
                step.put_subscription(subscription.clone())?;
            }
            Ok(claimed)
        })
        .await
    }

    async fn renew_subscriptions(
        &self,
        holds: &[Hold],
        terms: Terms,
    ) -> Result<Vec<Option<Subscription>>> {
        self.subscription_step(terms.now, |step| {
            let mut answers = Vec::with_capacity(holds.len());
            for hold in holds {
                let renewed = step.state.held(*hold).map(|it| it.renewed(terms));
                if let Some(renewed) = &renewed {
                    step.put_subscription(renewed.clone())?;
                }
                answers.push(renewed);
            }
            Ok(answers)
        })
        .await
    }

    async fn report_delivery(
        &self,
        hold: Hold,
        report: Report,
        terms: Terms,
    ) -> Result<Subscription> {
        self.subscription_step(terms.now, |step| {
            let lost = || Error::LeaseLost(hold.subscription);
            let reported = step.state.held(hold).ok_or_else(lost)?.reported(report, terms);
            step.put_subscription(reported.clone())?;
            Ok(reported)
        })
        .await
    }
}

impl State {
    fn subscription(&self, id: SubscriptionId) -> Result<Subscription> {
        if let Some(known) = self.index.subscriptions.get(&id) {
            return Ok(known.clone());
        }
        // The record says why one that is not held in memory cannot be read.
        self.read(&Key::Subscription(id))?.ok_or(Error::NoSuchSubscription(id))
    }

    fn held(&self, hold: Hold) -> Option<&Subscription> {
        self.index.subscriptions.get(&hold.subscription).filter(|it| it.is_held_by(hold))
    }
}

impl Step<'_> {
    fn create_subscription(&mut self, new: Subscription, most: Option<u64>) -> Result<()> {
        new.validate()?;
        let known = &self.state.index.subscriptions;
        if self.state.exists(&Key::Subscription(new.id))? {
            return Err(Error::NameTaken(new.name.into()));
        }
        self.check_subscription_name(&new)?;
        let owned = known.values().filter(|other| other.owner == new.owner).count() as u64;
        if let Some(most) = most.filter(|most| owned >= *most) {
            return Err(Error::TooManyOfOwner(most));
        }
        if known.len() >= Subscription::MOST {
            return Err(Error::TooMany);
        }
        Ok(self.put_subscription(new)?)
    }

    fn edit_subscription(
        &mut self,
        edit: Subscription,
        expected: Option<u64>,
    ) -> Result<Subscription> {
        edit.validate()?;
        let before = self.state.subscription(edit.id)?;
        let current = before.version;
        if let Some(expected) = expected.filter(|expected| *expected != current) {
            let name = before.name.into();
            return Err(Error::Conflict { name, expected, current });
        }
        let edited = before.edited(edit, self.now);
        self.check_subscription_name(&edited)?;
        self.put_subscription(edited.clone())?;
        Ok(edited)
    }

    fn check_subscription_name(&self, subscription: &Subscription) -> Result<()> {
        let taken = self.state.index.subscriptions.values().any(|other| {
            other.id != subscription.id
                && other.owner == subscription.owner
                && other.name == subscription.name
        });
        if taken {
            return Err(Error::NameTaken(subscription.name.to_string()));
        }
        Ok(())
    }

    fn put_subscription(&mut self, subscription: Subscription) -> store::Result<()> {
        self.put(&Key::Subscription(subscription.id), &subscription)?;
        self.state.index.subscriptions.insert(subscription.id, subscription);
        Ok(())
    }
}
