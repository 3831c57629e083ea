//! Accounts on PostgreSQL: users, their sessions and keys, and attempts to get in.
//!
//! People change at the speed of people, so the verbs that keep a promise about all users, or about all
//! sessions and keys of one, take turns under one lock.

mod events;
mod rows;

use async_trait::async_trait;
use chronos_core::account::{
    Accounts, Act, Admit, ApiKey, Attempt, Digest, Error, Event, MAX_SESSIONS, NewUser, Result,
    Session, Subject, User, UserChange, UserName, What,
};
use chronos_core::{KeyId, SessionId, Timestamp, UserId, store};
use sqlx::PgConnection;
use sqlx::types::Uuid;
use sqlx::types::chrono::{DateTime, Utc};

use super::PostgresStore;
use super::fault::Outcome;
use super::partitions::lock_key;
use super::shared::{Shared, step};
use super::values::{AsUuid as _, Fields, count, limit, text, time};
use rows::{read_key, read_user};

/// Counts of windows that are over and go with an attempt that comes.
const FORGOTTEN_AT_ONCE: i64 = 8;

/// Makes what the domain refuses the answer of a step that wrote nothing.
macro_rules! refuse {
    ($error:expr) => {
        return Ok(Err($error))
    };
}

#[async_trait]
impl Accounts for PostgresStore {
    async fn create_user(&self, new: NewUser, admit: Admit, act: Act) -> Result<User> {
        self.shared.create_user(new, admit, act).await
    }

    async fn has_users(&self) -> Result<bool> {
        let row = self.shared.fetch_optional(self.shared.sql.users_exist.query()).await?;
        Ok(row.map_or(Ok(false), |row| Fields::of(&row).get())?)
    }

    async fn user(&self, user: UserId) -> Result<User> {
        let query = self.shared.sql.user_read.query().bind(user.uuid());
        let row = self.shared.fetch_optional(query).await?.ok_or(Error::NoSuchUser(user))?;
        Ok(read_user(&row)?)
    }

    async fn user_named(&self, name: &UserName) -> Result<Option<User>> {
        let query = self.shared.sql.user_read_named.query().bind(name.key());
        let row = self.shared.fetch_optional(query).await?;
        Ok(row.as_ref().map(read_user).transpose()?)
    }

    async fn users(&self, after: Option<UserId>, most: usize) -> Result<Vec<User>> {
        let query = self.shared.sql.users_read.query().bind(after.map(|after| after.uuid()));
        let rows = self.shared.fetch_all(query.bind(limit(most))).await?;
        Ok(rows.iter().map(read_user).collect::<store::Result<_>>()?)
    }

    async fn change_user(&self, user: UserId, change: UserChange, act: Act) -> Result<User> {
        self.shared.change_user(user, &change, act).await
    }

    async fn delete_user(&self, user: UserId, act: Act) -> Result<()> {
        self.shared.delete_user(user, act).await
    }

    async fn open_session(&self, session: Session, act: Act) -> Result<()> {
        self.shared.open_session(&session, act).await
    }

    async fn user_of_session(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<User>> {
        let query = self.shared.sql.session_user.query().bind(user.uuid()).bind(session.uuid());
        let row = self.shared.fetch_optional(query.bind(time(now))).await?;
        Ok(row.as_ref().map(read_user).transpose()?)
    }

    async fn rotate_session(
        &self,
        user: UserId,
        session: SessionId,
        shown: Digest,
        next: Digest,
        now: Timestamp,
    ) -> Result<(User, Session)> {
        let rotated = self.shared.rotate_session(user, session, shown, next, now).await?;
        rotated.ok_or(Error::SessionReused)
    }

    async fn end_session(&self, user: UserId, session: SessionId, _: Timestamp) -> Result<()> {
        let query = self.shared.sql.session_delete.query().bind(user.uuid()).bind(session.uuid());
        self.shared.fetch_all(query).await?;
        Ok(())
    }

    async fn end_sessions(&self, user: UserId, _: Timestamp) -> Result<()> {
        self.shared.fetch_all(self.shared.sql.sessions_delete.query().bind(user.uuid())).await?;
        Ok(())
    }

    async fn create_key(&self, key: ApiKey, act: Act) -> Result<()> {
        self.shared.create_key(&key, act).await
    }

    async fn key(&self, key: KeyId) -> Result<Option<(ApiKey, User)>> {
        let query = self.shared.sql.key_read.query().bind(key.uuid());
        let Some(row) = self.shared.fetch_optional(query).await? else {
            return Ok(None);
        };
        let key = read_key(&row)?;
        let query = self.shared.sql.user_read.query().bind(key.user.uuid());
        // The key goes with its user.
        let user = self.shared.fetch_optional(query).await?;
        Ok(user.as_ref().map(read_user).transpose()?.map(|user| (key, user)))
    }

    async fn keys_of(&self, user: UserId) -> Result<Vec<ApiKey>> {
        let rows = self.shared.fetch_all(self.shared.sql.keys_read.query().bind(user.uuid()));
        Ok(rows.await?.iter().map(read_key).collect::<store::Result<_>>()?)
    }

    async fn note_key_use(&self, key: KeyId, now: Timestamp) -> Result<()> {
        let query = self.shared.sql.key_use.query().bind(key.uuid()).bind(time(now));
        self.shared.fetch_all(query).await?;
        Ok(())
    }

    async fn revoke_key(&self, user: UserId, key: KeyId, act: Act) -> Result<()> {
        self.shared.revoke_key(user, key, act).await
    }

    async fn refuse_login(&self, user: Option<UserId>, act: Act) -> Result<()> {
        self.shared.refuse_login(user, act).await
    }

    async fn account_events(&self, before: Option<u64>, most: usize) -> Result<Vec<Event>> {
        self.shared.account_events(before, most).await
    }

    async fn attempt(&self, subjects: &[Subject], now: Timestamp) -> Result<Attempt> {
        self.shared.attempt(subjects, now).await
    }

    async fn forget_attempts(&self, subjects: &[Subject], now: Timestamp) -> Result<()> {
        let (ids, ends) = windows(subjects, now);
        let query = self.shared.sql.attempts_delete.query().bind(ids).bind(ends);
        self.shared.fetch_all(query).await?;
        Ok(())
    }
}

/// Who is counted, and the ends of the windows they are counted in.
fn windows(subjects: &[Subject], now: Timestamp) -> (Vec<Uuid>, Vec<DateTime<Utc>>) {
    let ids = subjects.iter().map(|subject| Uuid::from_bytes(subject.id));
    (ids.collect(), subjects.iter().map(|subject| time(subject.window_end(now))).collect())
}

impl Shared {
    /// Waits until no other verb about this part of the store is under way.
    pub(super) async fn take_turns(
        &self,
        connection: &mut PgConnection,
        part: &str,
    ) -> Outcome<()> {
        let lock = lock_key(&self.config.schema, part);
        self.sql.advisory_lock.query().bind(lock).execute(connection).await?;
        Ok(())
    }

    async fn read_user(
        &self,
        connection: &mut PgConnection,
        user: UserId,
    ) -> Outcome<Option<User>> {
        let query = self.sql.user_read.query().bind(user.uuid());
        let row = query.fetch_optional(connection).await?;
        Ok(row.as_ref().map(read_user).transpose()?)
    }

    async fn another_rules(&self, connection: &mut PgConnection, but: UserId) -> Outcome<bool> {
        let query = self.sql.users_rule.query().bind(but.uuid());
        Ok(query.fetch_optional(connection).await?.is_some())
    }

    async fn create_user(&self, new: NewUser, admit: Admit, act: Act) -> Result<User> {
        let now = act.at;
        step!(self, now, |session, _step| {
            self.take_turns(session, USERS).await?;
            let exist = self.sql.users_exist.query().fetch_one(&mut **session).await?;
            let is_first = !Fields::of(&exist).get::<bool>()?;
            if admit == Admit::First && !is_first {
                refuse!(Error::NotFirst);
            }
            let (id, key) = (new.id.uuid(), new.name.key());
            let query = self.sql.user_taken.query().bind(id).bind(key.clone());
            if query.fetch_optional(&mut **session).await?.is_some() {
                refuse!(Error::NameTaken(new.name.clone()));
            }
            let user = User::new(new.clone(), is_first, now);
            let query = self.sql.user_insert.query().bind(id).bind(user.name.to_string()).bind(key);
            let query = query.bind(user.role.as_str()).bind(user.password.expose().to_owned());
            let query = query.bind(count(user.generation)).bind(user.disabled);
            let query = query.bind(time(user.created_at)).bind(time(user.changed_at));
            query.execute(&mut **session).await?;
            let done = [What::UserCreated { role: user.role }];
            self.file_account_events(session, act, Some(&user), &done).await?;
            Ok(Ok(user))
        })?
    }

    async fn change_user(&self, id: UserId, change: &UserChange, act: Act) -> Result<User> {
        let now = act.at;
        step!(self, now, |session, _step| {
            self.take_turns(session, USERS).await?;
            let Some(known) = self.read_user(session, id).await? else {
                refuse!(Error::NoSuchUser(id));
            };
            let user = known.changed(change.clone(), now);
            if known.rules() && !user.rules() && !self.another_rules(session, id).await? {
                refuse!(Error::LastAdmin);
            }
            if user.generation != known.generation {
                let query = self.sql.sessions_delete.query().bind(id.uuid());
                query.execute(&mut **session).await?;
            }
            let query = self.sql.user_update.query().bind(id.uuid()).bind(user.role.as_str());
            let query = query.bind(user.password.expose().to_owned());
            let query = query.bind(count(user.generation)).bind(user.disabled);
            query.bind(time(user.changed_at)).execute(&mut **session).await?;
            let done = What::of(change, &known, &user);
            self.file_account_events(session, act, Some(&user), &done).await?;
            Ok(Ok(user))
        })?
    }

    async fn delete_user(&self, id: UserId, act: Act) -> Result<()> {
        step!(self, act.at, |session, _step| {
            self.take_turns(session, USERS).await?;
            let Some(user) = self.read_user(session, id).await? else {
                refuse!(Error::NoSuchUser(id));
            };
            if user.rules() && !self.another_rules(session, id).await? {
                refuse!(Error::LastAdmin);
            }
            self.sql.user_delete.query().bind(id.uuid()).execute(&mut **session).await?;
            self.file_account_events(session, act, Some(&user), &[What::UserDeleted]).await?;
            Ok(Ok(()))
        })?
    }

    async fn open_session(&self, opened: &Session, act: Act) -> Result<()> {
        step!(self, act.at, |session, _step| {
            self.take_turns(session, USERS).await?;
            let user = self.read_user(session, opened.user).await?;
            let Some(known) = user.filter(|user| !user.disabled) else {
                refuse!(Error::NoSuchUser(opened.user));
            };
            let user = opened.user.uuid();
            let query = self.sql.sessions_trim.query().bind(user).bind(time(act.at));
            query.bind(limit(MAX_SESSIONS - 1)).execute(&mut **session).await?;
            let query = self.sql.session_put.query().bind(user).bind(opened.id.uuid());
            let query = query.bind(opened.digest.expose().to_vec()).bind(time(opened.opened_at));
            query.bind(time(opened.expires_at)).execute(&mut **session).await?;
            self.file_account_events(session, act, Some(&known), &[What::LoggedIn]).await?;
            Ok(Ok(()))
        })?
    }

    /// The session with its next token; `None` if it ends because another token was shown.
    async fn rotate_session(
        &self,
        user: UserId,
        id: SessionId,
        shown: Digest,
        next: Digest,
        now: Timestamp,
    ) -> Result<Option<(User, Session)>> {
        step!(self, now, |session, _step| {
            let query = self.sql.session_lock.query().bind(user.uuid()).bind(id.uuid());
            let Some(row) = query.bind(time(now)).fetch_optional(&mut **session).await? else {
                refuse!(Error::NoSuchSession);
            };
            let Some(known) = self.read_user(session, user).await?.filter(|user| !user.disabled)
            else {
                refuse!(Error::NoSuchSession);
            };
            let fields = &mut Fields::of(&row);
            if !rows::digest(fields)?.matches(&shown) {
                let query = self.sql.session_delete.query().bind(user.uuid()).bind(id.uuid());
                query.execute(&mut **session).await?;
                return Ok(Ok(None));
            }
            let query = self.sql.session_rotate.query().bind(user.uuid()).bind(id.uuid());
            query.bind(next.expose().to_vec()).execute(&mut **session).await?;
            let (opened_at, expires_at) = (fields.time()?, fields.time()?);
            Ok(Ok(Some((known, Session { id, user, digest: next, opened_at, expires_at }))))
        })?
    }

    async fn create_key(&self, key: &ApiKey, act: Act) -> Result<()> {
        step!(self, act.at, |session, _step| {
            self.take_turns(session, USERS).await?;
            let Some(user) = self.read_user(session, key.user).await? else {
                refuse!(Error::NoSuchUser(key.user));
            };
            let query = self.sql.keys_read.query().bind(key.user.uuid());
            if query.fetch_all(&mut **session).await?.len() >= ApiKey::MOST {
                refuse!(Error::TooManyKeys);
            }
            let query = self.sql.key_insert.query().bind(key.id.uuid()).bind(key.user.uuid());
            let query = query.bind(text(&key.name).into_owned());
            let query = query.bind(key.digest.expose().to_vec()).bind(key.scopes.names());
            let query = query.bind(time(key.created_at)).bind(key.expires_at.map(time));
            query.bind(key.last_used_at.map(time)).execute(&mut **session).await?;
            let done = [What::KeyCreated { key: key.id }];
            self.file_account_events(session, act, Some(&user), &done).await?;
            Ok(Ok(()))
        })?
    }

    async fn revoke_key(&self, user: UserId, key: KeyId, act: Act) -> Result<()> {
        step!(self, act.at, |session, _step| {
            self.take_turns(session, USERS).await?;
            let query = self.sql.key_delete.query().bind(user.uuid()).bind(key.uuid());
            if query.execute(&mut **session).await?.rows_affected() == 0 {
                refuse!(Error::NoSuchKey(key));
            }
            let user = self.read_user(session, user).await?;
            let done = [What::KeyRevoked { key }];
            self.file_account_events(session, act, user.as_ref(), &done).await?;
            Ok(Ok(()))
        })?
    }

    async fn attempt(&self, subjects: &[Subject], now: Timestamp) -> Result<Attempt> {
        let (ids, ends) = windows(subjects, now);
        step!(self, now, |session, _step| {
            self.take_turns(session, ATTEMPTS).await?;
            let query = self.sql.attempts_forget.query().bind(time(now)).bind(FORGOTTEN_AT_ONCE);
            query.execute(&mut **session).await?;
            let query = self.sql.attempts_read.query().bind(ids.clone()).bind(ends.clone());
            let tries = query.fetch_all(&mut **session).await?;
            let mut wait = None;
            for (subject, row) in subjects.iter().zip(&tries) {
                if Fields::of(row).small()? >= subject.limit {
                    wait = wait.max(Some(subject.window_end(now)));
                }
            }
            if let Some(end) = wait {
                return Ok(Ok(Attempt::Until(end)));
            }
            let query = self.sql.attempts_count.query().bind(ids.clone()).bind(ends.clone());
            query.execute(&mut **session).await?;
            Ok(Ok(Attempt::Let))
        })?
    }
}

/// What verbs take turns for.
const USERS: &str = "users";
const ATTEMPTS: &str = "attempts";
