//! Subscriptions on PostgreSQL: a row each, read, decided about and written under its lock.

use std::collections::HashMap;

use async_trait::async_trait;
use chronos_core::store::{self, Terms};
use chronos_core::subscription::{
    Error, Hold, Report, Result, Subscription, Subscriptions, Switch,
};
use chronos_core::{SubscriptionId, Timestamp, WorkerId};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use sqlx::types::Uuid;

use super::PostgresStore;
use super::fault::Outcome;
use super::jobs::refused;
use super::shared::{Shared, step};
use super::statements::Bound;
use super::values::{AsUuid as _, Fields, count, limit as rows_up_to, text, time};

/// What of the store those take turns at who make subscriptions.
const PART: &str = "subscriptions";

/// Makes what the domain refuses the answer of a step that wrote nothing.
macro_rules! refuse {
    ($error:expr) => {
        return Ok(Err($error))
    };
}

fn decode(row: &PgRow) -> store::Result<Subscription> {
    let subscription: &str = Fields::of(row).get()?;
    serde_json::from_str(subscription)
        .map_err(|error| store::Error::Corrupt(format!("a subscription cannot be read: {error}")))
}

fn encode(subscription: &Subscription) -> store::Result<String> {
    serde_json::to_string(subscription)
        .map_err(|error| store::Error::Corrupt(format!("cannot write a subscription: {error}")))
}

/// Binds a subscription to the statements that write it.
fn bind(query: Bound, subscription: &Subscription) -> store::Result<Bound> {
    let (owner, name) = (text(&subscription.owner), text(&subscription.name));
    let query = query.bind(subscription.id.uuid()).bind(owner.into_owned());
    let query = query.bind(name.into_owned()).bind(encode(subscription)?);
    let query = query.bind(count(subscription.delivery.token.0));
    Ok(query.bind(subscription.delivery.free_at().map(time)))
}

#[async_trait]
impl Subscriptions for PostgresStore {
    async fn create_subscription(&self, new: Subscription, most: Option<u64>) -> Result<()> {
        self.shared.create_subscription(&new, most).await
    }

    async fn edit_subscription(
        &self,
        edit: Subscription,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Subscription> {
        self.shared.edit_subscription(&edit, expected, now).await
    }

    async fn switch_subscription(
        &self,
        subscription: SubscriptionId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Subscription> {
        self.shared.switch_subscription(subscription, switch, now).await
    }

    async fn delete_subscription(&self, subscription: SubscriptionId) -> Result<()> {
        let query = self.shared.sql.subscription_delete.query().bind(subscription.uuid());
        let gone = self.shared.fetch_optional(query).await?;
        gone.map(drop).ok_or(Error::NoSuchSubscription(subscription))
    }

    async fn subscription(&self, subscription: SubscriptionId) -> Result<Subscription> {
        let query = self.shared.sql.subscription_read.query().bind(subscription.uuid());
        let row = self.shared.fetch_optional(query).await?;
        Ok(decode(&row.ok_or(Error::NoSuchSubscription(subscription))?)?)
    }

    async fn subscriptions(
        &self,
        owner: Option<&str>,
        after: Option<SubscriptionId>,
        limit: usize,
    ) -> Result<Vec<Subscription>> {
        let sql = &self.shared.sql;
        let after = after.map_or(Uuid::nil(), |after| after.uuid());
        let begin = |query: Bound| query.bind(after).bind(rows_up_to(limit));
        let query = match owner {
            None => begin(sql.subscriptions_read.query()),
            Some(owner) => {
                begin(sql.subscriptions_read_owner.query()).bind(text(owner).into_owned())
            }
        };
        let rows = self.shared.fetch_all(query).await?;
        // One that cannot be read must not hide those after it.
        Ok(rows.iter().filter_map(|row| decode(row).ok()).collect())
    }

    async fn claim_subscriptions(
        &self,
        worker: &WorkerId,
        terms: Terms,
        limit: usize,
    ) -> Result<Vec<Subscription>> {
        self.shared.claim_subscriptions(worker, terms, limit).await
    }

    async fn renew_subscriptions(
        &self,
        holds: &[Hold],
        terms: Terms,
    ) -> Result<Vec<Option<Subscription>>> {
        self.shared.renew_subscriptions(holds, terms).await
    }

    async fn report_delivery(
        &self,
        hold: Hold,
        report: Report,
        terms: Terms,
    ) -> Result<Subscription> {
        self.shared.report_delivery(hold, &report, terms).await
    }
}

impl Shared {
    async fn create_subscription(&self, new: &Subscription, most: Option<u64>) -> Result<()> {
        new.validate()?;
        answered(step!(self, new.created_at, |session, _step| {
            // Of several at once, none may be one too many.
            self.take_turns(session, PART).await?;
            let query = self.sql.subscriptions_count.query().bind(text(&new.owner).into_owned());
            let row = query.fetch_one(&mut **session).await?;
            let fields = &mut Fields::of(&row);
            let (all, owned) = (fields.count()?, fields.count()?);
            if let Some(most) = most.filter(|most| owned >= *most) {
                refuse!(Error::TooManyOfOwner(most));
            }
            if all >= Subscription::MOST as u64 {
                refuse!(Error::TooMany);
            }
            let query = bind(self.sql.subscription_insert.query(), new)?;
            named(query.execute(&mut **session).await, new)?;
            Ok(Ok(()))
        }))
    }

    async fn edit_subscription(
        &self,
        edit: &Subscription,
        expected: Option<u64>,
        now: Timestamp,
    ) -> Result<Subscription> {
        edit.validate()?;
        answered(step!(self, now, |session, _step| {
            let Some(before) = self.lock_subscription(session, edit.id).await? else {
                refuse!(Error::NoSuchSubscription(edit.id));
            };
            let current = before.version;
            if let Some(expected) = expected.filter(|expected| *expected != current) {
                let name = before.name.into();
                refuse!(Error::Conflict { name, expected, current });
            }
            let edited = before.edited(edit.clone(), now);
            let query = bind(self.sql.subscription_update.query(), &edited)?;
            named(query.execute(&mut **session).await, &edited)?;
            Ok(Ok(edited))
        }))
    }

    async fn switch_subscription(
        &self,
        subscription: SubscriptionId,
        switch: Switch,
        now: Timestamp,
    ) -> Result<Subscription> {
        step!(self, now, |session, _step| {
            let Some(before) = self.lock_subscription(session, subscription).await? else {
                refuse!(Error::NoSuchSubscription(subscription));
            };
            let switched = before.switched(switch, now);
            bind(self.sql.subscription_update.query(), &switched)?.execute(&mut **session).await?;
            Ok(Ok(switched))
        })?
    }

    async fn report_delivery(
        &self,
        hold: Hold,
        report: &Report,
        terms: Terms,
    ) -> Result<Subscription> {
        step!(self, terms.now, |session, _step| {
            let found = self.lock_subscription(session, hold.subscription).await?;
            let Some(before) = found.filter(|found| found.is_held_by(hold)) else {
                refuse!(Error::LeaseLost(hold.subscription));
            };
            let reported = before.reported(report.clone(), terms);
            bind(self.sql.subscription_update.query(), &reported)?.execute(&mut **session).await?;
            Ok(Ok(reported))
        })?
    }

    async fn claim_subscriptions(
        &self,
        worker: &WorkerId,
        terms: Terms,
        limit: usize,
    ) -> Result<Vec<Subscription>> {
        let free = |limit| {
            self.sql.subscriptions_free.query().bind(time(terms.now)).bind(rows_up_to(limit))
        };
        // Mostly there is none, and one statement says so.
        if self.fetch_all(free(1)).await?.is_empty() {
            return Ok(Vec::new());
        }
        let claimed = step!(self, terms.now, |session, _step| {
            let rows = free(limit).fetch_all(&mut **session).await?;
            let mut claimed = Vec::with_capacity(rows.len());
            for row in &rows {
                // One that cannot be read is nobody's, and holds up no other.
                let read = decode(row).ok();
                claimed.extend(read.and_then(|it| it.claimed(worker, terms)));
            }
            self.update_subscriptions(session, &claimed).await?;
            Ok(claimed)
        });
        Ok(claimed?)
    }

    async fn renew_subscriptions(
        &self,
        holds: &[Hold],
        terms: Terms,
    ) -> Result<Vec<Option<Subscription>>> {
        let ids: Vec<Uuid> = holds.iter().map(|hold| hold.subscription.uuid()).collect();
        let renewed = step!(self, terms.now, |session, _step| {
            let query = self.sql.subscriptions_lock.query().bind(ids.clone());
            let rows = query.fetch_all(&mut **session).await?;
            let found = rows.iter().filter_map(|row| decode(row).ok());
            let mut found: HashMap<_, _> = found.map(|found| (found.id, found)).collect();
            let renewed = holds.iter().map(|hold| {
                let found = found.remove(&hold.subscription)?;
                found.is_held_by(*hold).then(|| found.renewed(terms))
            });
            let renewed: Vec<Option<Subscription>> = renewed.collect();
            let changed: Vec<_> = renewed.iter().flatten().cloned().collect();
            self.update_subscriptions(session, &changed).await?;
            Ok(renewed)
        });
        Ok(renewed?)
    }

    async fn lock_subscription(
        &self,
        connection: &mut PgConnection,
        subscription: SubscriptionId,
    ) -> Outcome<Option<Subscription>> {
        let query = self.sql.subscription_lock.query().bind(subscription.uuid());
        let row = query.fetch_optional(connection).await?;
        Ok(row.as_ref().map(decode).transpose()?)
    }

    async fn update_subscriptions(
        &self,
        connection: &mut PgConnection,
        changed: &[Subscription],
    ) -> Outcome<()> {
        if changed.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = changed.iter().map(|it| it.id.uuid()).collect();
        let texts: store::Result<Vec<String>> = changed.iter().map(encode).collect();
        let tokens: Vec<i64> = changed.iter().map(|it| count(it.delivery.token.0)).collect();
        let free: Vec<_> = changed.iter().map(|it| it.delivery.free_at().map(time)).collect();
        let query = self.sql.subscriptions_update.query().bind(ids).bind(texts?);
        query.bind(tokens).bind(free).execute(connection).await?;
        Ok(())
    }
}

/// What came of writing a subscription whose name may be taken.
fn named<T>(
    written: std::result::Result<T, sqlx::Error>,
    subscription: &Subscription,
) -> Outcome<()> {
    let taken = store::Error::NameTaken(subscription.name.to_string());
    written.map(drop).map_err(|error| refused(error, taken))
}

/// The answer of a step that wrote a name; the store's words for one that is taken are those for jobs.
fn answered<T>(answer: store::Result<Result<T>>) -> Result<T> {
    match answer {
        Err(store::Error::NameTaken(name)) => Err(Error::NameTaken(name)),
        answer => answer?,
    }
}
