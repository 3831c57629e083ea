//! Account events on PostgreSQL: filed in the transaction of what they tell.

use std::net::IpAddr;

use chronos_core::account::{Act, Event, Result, User, UserName, What};
use chronos_core::store::{self, Error};
use chronos_core::{Timestamp, UserId};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use sqlx::types::Uuid;

use super::USERS;
use crate::postgres::fault::Outcome;
use crate::postgres::shared::{Shared, step};
use crate::postgres::values::{AsUuid as _, Fields, count, limit, time};

impl Shared {
    /// Files what a transaction that has its turn among those about users did.
    pub(super) async fn file_account_events(
        &self,
        connection: &mut PgConnection,
        act: Act,
        user: Option<&User>,
        done: &[What],
    ) -> Outcome<()> {
        let damaged = |error| Error::Corrupt(format!("cannot write an account event: {error}"));
        let written: std::result::Result<Vec<String>, _> =
            done.iter().map(serde_json::to_string).collect();
        let query = self.sql.account_events_file.query().bind(time(act.at));
        let query =
            query.bind(act.by.map(|by| by.uuid())).bind(act.from.map(|from| from.to_string()));
        let query = query.bind(user.map(|user| user.id.uuid()));
        let query = query.bind(user.map(|user| user.name.to_string()));
        let query = query.bind(written.map_err(damaged)?).bind(count(Event::MOST));
        query.execute(connection).await?;
        Ok(())
    }

    pub(super) async fn refuse_login(&self, user: Option<UserId>, act: Act) -> Result<()> {
        step!(self, act.at, |session, _step| {
            self.take_turns(session, USERS).await?;
            let user = match user {
                Some(user) => self.read_user(session, user).await?,
                None => None,
            };
            self.file_account_events(session, act, user.as_ref(), &[What::LoginRefused]).await?;
            Ok(Ok(()))
        })?
    }

    pub(super) async fn account_events(
        &self,
        before: Option<u64>,
        most: usize,
    ) -> Result<Vec<Event>> {
        let query = self.sql.account_events_read.query().bind(before.map(count));
        let rows = self.fetch_all(query.bind(limit(most))).await?;
        Ok(rows.iter().map(read).collect::<store::Result<_>>()?)
    }
}

fn read(row: &PgRow) -> store::Result<Event> {
    let damaged = |problem: String| Error::Corrupt(format!("an account event's row: {problem}"));
    let fields = &mut Fields::of(row);
    let (sequence, at): (u64, Timestamp) = (fields.count()?, fields.time()?);
    let by = fields.get::<Option<Uuid>>()?.map(|by| UserId::from_bytes(*by.as_bytes()));
    let from = fields.get::<Option<&str>>()?.map(str::parse::<IpAddr>).transpose();
    let from = from.map_err(|error| damaged(error.to_string()))?;
    let id = fields.get::<Option<Uuid>>()?.map(|id| UserId::from_bytes(*id.as_bytes()));
    let name = fields.get::<Option<&str>>()?.map(UserName::parse).transpose();
    let name = name.map_err(|error| damaged(error.to_string()))?;
    let what = serde_json::from_str(fields.get()?).map_err(|error| damaged(error.to_string()))?;
    Ok(Event { sequence, act: Act { at, by, from }, user: id.zip(name), what })
}
