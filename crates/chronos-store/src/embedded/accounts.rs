//! Accounts in the embedded store: users, their sessions and keys, and attempts to get in.

use std::ops::ControlFlow;

use async_trait::async_trait;
use chronos_core::account::{
    Accounts, Act, Admit, ApiKey, Attempt, Digest, Error, Event, MAX_SESSIONS, NewUser, Result,
    Session, Subject, User, UserChange, UserName, What,
};
use chronos_core::{KeyId, SessionId, Timestamp, UserId, store};
use serde::de::DeserializeOwned;

use super::EmbeddedStore;
use super::keys::{Key, Table, dated_in, last_id, of_user};
use super::record::decode;
use super::state::{State, engine, until, visit_entries};
use super::step::Step;
use crate::kv::Order;

/// Counts of windows that are over and go with an attempt that comes.
const FORGOTTEN_AT_ONCE: usize = 8;

impl EmbeddedStore {
    /// Runs a verb about accounts as one step. One that refuses has written nothing.
    async fn account_step<T>(
        &self,
        now: Timestamp,
        verb: impl FnOnce(&mut Step<'_>) -> Result<T>,
    ) -> Result<T> {
        let answered = self.step(now, |step| match verb(step) {
            Err(Error::Store(error)) => Err(error),
            Err(refused) => {
                step.write_nothing();
                Ok(Err(refused))
            }
            done => Ok(done),
        });
        answered.await?
    }

    fn account_read<T>(&self, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        self.read(|state| Ok(read(state)))?
    }
}

#[async_trait]
impl Accounts for EmbeddedStore {
    async fn create_user(&self, new: NewUser, admit: Admit, act: Act) -> Result<User> {
        self.account_step(act.at, |step| step.create_user(new, admit, act)).await
    }

    async fn has_users(&self) -> Result<bool> {
        self.account_read(|state| Ok(state.has_users))
    }

    async fn user(&self, user: UserId) -> Result<User> {
        self.account_read(|state| state.user(user))
    }

    async fn user_named(&self, name: &UserName) -> Result<Option<User>> {
        self.account_read(|state| {
            let id: Option<UserId> = state.read(&Key::UserName(&name.key()))?;
            id.map(|id| state.user(id)).transpose()
        })
    }

    async fn users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>> {
        self.account_read(|state| {
            let (mut from, to) = Table::User.range();
            if let Some(after) = after {
                from = Key::User(after).encode().to_vec();
                from.push(0);
            }
            state.some((&from, &to), limit)
        })
    }

    async fn change_user(&self, user: UserId, change: UserChange, act: Act) -> Result<User> {
        self.account_step(act.at, |step| step.change_user(user, &change, act)).await
    }

    async fn delete_user(&self, user: UserId, act: Act) -> Result<()> {
        self.account_step(act.at, |step| step.delete_user(user, act)).await
    }

    async fn open_session(&self, session: Session, act: Act) -> Result<()> {
        self.account_step(act.at, |step| step.open_session(&session, act)).await
    }

    async fn user_of_session(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<User>> {
        self.account_read(|state| match state.session(user, session, now) {
            Ok(_) => Ok(state.enabled_user(user)?),
            Err(Error::NoSuchSession) => Ok(None),
            Err(error) => Err(error),
        })
    }

    async fn rotate_session(
        &self,
        user: UserId,
        session: SessionId,
        shown: Digest,
        next: Digest,
        now: Timestamp,
    ) -> Result<(User, Session)> {
        let rotated =
            self.account_step(now, |step| step.rotate(user, session, shown, next)).await?;
        rotated.ok_or(Error::SessionReused)
    }

    async fn end_session(&self, user: UserId, session: SessionId, now: Timestamp) -> Result<()> {
        self.account_step(now, |step| {
            step.delete(&Key::Session(user, session));
            Ok(())
        })
        .await
    }

    async fn end_sessions(&self, user: UserId, now: Timestamp) -> Result<()> {
        self.account_step(now, |step| step.end_sessions(user)).await
    }

    async fn create_key(&self, key: ApiKey, act: Act) -> Result<()> {
        self.account_step(act.at, |step| {
            let user = step.state.user(key.user)?;
            if step.state.keys_of(key.user)?.len() >= ApiKey::MOST {
                return Err(Error::TooManyKeys);
            }
            step.mark(&Key::CredentialOf(key.user, key.id));
            step.file_account_events(act, Some(&user), &[What::KeyCreated { key: key.id }])?;
            Ok(step.put(&Key::Credential(key.id), &key)?)
        })
        .await
    }

    async fn key(&self, key: KeyId) -> Result<Option<(ApiKey, User)>> {
        self.account_read(|state| {
            let key: Option<ApiKey> = state.read(&Key::Credential(key))?;
            key.map(|key| state.user(key.user).map(|user| (key, user))).transpose()
        })
    }

    async fn keys_of(&self, user: UserId) -> Result<Vec<ApiKey>> {
        self.account_read(|state| state.keys_of(user))
    }

    async fn note_key_use(&self, key: KeyId, now: Timestamp) -> Result<()> {
        self.account_step(now, |step| {
            let Some(known) = step.state.read::<ApiKey>(&Key::Credential(key))? else {
                return Ok(());
            };
            let used = ApiKey { last_used_at: Some(now), ..known };
            Ok(step.put(&Key::Credential(key), &used)?)
        })
        .await
    }

    async fn revoke_key(&self, user: UserId, key: KeyId, act: Act) -> Result<()> {
        self.account_step(act.at, |step| {
            if !step.state.exists(&Key::CredentialOf(user, key))? {
                return Err(Error::NoSuchKey(key));
            }
            step.delete(&Key::CredentialOf(user, key));
            step.delete(&Key::Credential(key));
            let user = step.state.user(user)?;
            step.file_account_events(act, Some(&user), &[What::KeyRevoked { key }])
        })
        .await
    }

    async fn refuse_login(&self, user: Option<UserId>, act: Act) -> Result<()> {
        self.account_step(act.at, |step| step.refuse_login(user, act)).await
    }

    async fn account_events(&self, before: Option<u64>, limit: usize) -> Result<Vec<Event>> {
        self.account_read(|state| state.account_events(before, limit))
    }

    async fn attempt(&self, subjects: &[Subject], now: Timestamp) -> Result<Attempt> {
        self.account_step(now, |step| step.attempt(subjects)).await
    }

    async fn forget_attempts(&self, subjects: &[Subject], now: Timestamp) -> Result<()> {
        self.account_step(now, |step| {
            for subject in subjects {
                step.delete(&Key::Attempt(subject.window_end(now), subject.id));
            }
            Ok(())
        })
        .await
    }
}

impl State {
    /// Looks whether there is any user.
    pub(super) fn any_user(&self) -> store::Result<bool> {
        let (from, to) = Table::User.range();
        let mut any = false;
        engine(self.kv.scan(&from, &to, Order::Ascending, &mut |_, _| {
            any = true;
            ControlFlow::Break(())
        }))?;
        Ok(any)
    }

    fn user(&self, user: UserId) -> Result<User> {
        self.read(&Key::User(user))?.ok_or(Error::NoSuchUser(user))
    }

    fn enabled_user(&self, user: UserId) -> store::Result<Option<User>> {
        let user: Option<User> = self.read(&Key::User(user))?;
        Ok(user.filter(|user| !user.disabled))
    }

    /// A session that goes on at `now`.
    fn session(&self, user: UserId, session: SessionId, now: Timestamp) -> Result<Session> {
        let session: Option<Session> = self.read(&Key::Session(user, session))?;
        session.filter(|session| now < session.expires_at).ok_or(Error::NoSuchSession)
    }

    fn sessions_of(&self, user: UserId) -> Result<Vec<Session>> {
        let (from, to) = of_user(Table::Session, user);
        self.some((&from, &to), usize::MAX)
    }

    fn keys_of(&self, user: UserId) -> Result<Vec<ApiKey>> {
        let (from, to) = of_user(Table::CredentialOf, user);
        let mut ids = Vec::new();
        engine(self.kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
            ids.extend(last_id(key).map(KeyId::from_bytes));
            ControlFlow::Continue(())
        }))?;
        let keys = ids.into_iter().map(|id| self.read(&Key::Credential(id)));
        let keys: store::Result<Vec<Option<ApiKey>>> = keys.collect();
        Ok(keys?.into_iter().flatten().collect())
    }

    /// Up to `limit` records of a range, in the order of their keys.
    fn some<T: DeserializeOwned>(&self, range: (&[u8], &[u8]), limit: usize) -> Result<Vec<T>> {
        let mut found = Vec::new();
        if limit > 0 {
            visit_entries(self.kv.as_ref(), range, Order::Ascending, |_, value| {
                found.push(decode(value)?);
                Ok(until(found.len(), limit))
            })?;
        }
        Ok(found)
    }
}

impl Step<'_> {
    fn create_user(&mut self, new: NewUser, admit: Admit, act: Act) -> Result<User> {
        let is_first = !self.state.has_users;
        if admit == Admit::First && !is_first {
            return Err(Error::NotFirst);
        }
        let name = new.name.key();
        if self.state.exists(&Key::UserName(&name))? || self.state.exists(&Key::User(new.id))? {
            return Err(Error::NameTaken(new.name));
        }
        let user = User::new(new, is_first, self.now);
        self.put(&Key::UserName(&name), &user.id)?;
        self.put(&Key::User(user.id), &user)?;
        self.file_account_events(act, Some(&user), &[What::UserCreated { role: user.role }])?;
        // If the step fails, the state is read anew.
        self.state.has_users = true;
        Ok(user)
    }

    fn change_user(&mut self, id: UserId, change: &UserChange, act: Act) -> Result<User> {
        let known = self.state.user(id)?;
        let user = known.changed(change.clone(), self.now);
        if known.rules() && !user.rules() {
            self.check_another_rules(id)?;
        }
        if user.generation != known.generation {
            self.end_sessions(id)?;
        }
        self.put(&Key::User(id), &user)?;
        self.file_account_events(act, Some(&user), &What::of(change, &known, &user))?;
        Ok(user)
    }

    fn delete_user(&mut self, id: UserId, act: Act) -> Result<()> {
        let user = self.state.user(id)?;
        if user.rules() {
            self.check_another_rules(id)?;
        }
        self.end_sessions(id)?;
        for key in self.state.keys_of(id)? {
            self.delete(&Key::Credential(key.id));
            self.delete(&Key::CredentialOf(id, key.id));
        }
        self.delete(&Key::UserName(&user.name.key()));
        self.delete(&Key::User(id));
        self.file_account_events(act, Some(&user), &[What::UserDeleted])
    }

    fn check_another_rules(&self, but: UserId) -> Result<()> {
        let (from, to) = Table::User.range();
        let mut another = false;
        visit_entries(self.state.kv.as_ref(), (&from, &to), Order::Ascending, |_, value| {
            let user: User = decode(value)?;
            another = user.id != but && user.rules();
            Ok(if another { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if another { Ok(()) } else { Err(Error::LastAdmin) }
    }

    fn open_session(&mut self, session: &Session, act: Act) -> Result<()> {
        let user = self.state.enabled_user(session.user)?;
        let user = user.ok_or(Error::NoSuchUser(session.user))?;
        let mut known = self.state.sessions_of(user.id)?;
        known.sort_by_key(|session| session.opened_at);
        let over = |session: &&Session| session.expires_at <= self.now;
        let too_many = (known.len() + 1).saturating_sub(MAX_SESSIONS);
        let ended: Vec<SessionId> = known[..too_many]
            .iter()
            .chain(known[too_many..].iter().filter(over))
            .map(|session| session.id)
            .collect();
        for id in ended {
            self.delete(&Key::Session(user.id, id));
        }
        self.put(&Key::Session(user.id, session.id), session)?;
        self.file_account_events(act, Some(&user), &[What::LoggedIn])
    }

    /// The session with its next token; `None` if it ends because another token was shown.
    fn rotate(
        &mut self,
        user: UserId,
        id: SessionId,
        shown: Digest,
        next: Digest,
    ) -> Result<Option<(User, Session)>> {
        let session = self.state.session(user, id, self.now)?;
        let user = self.state.enabled_user(user)?.ok_or(Error::NoSuchSession)?;
        if !session.digest.matches(&shown) {
            self.delete(&Key::Session(user.id, id));
            return Ok(None);
        }
        let session = Session { digest: next, ..session };
        self.put(&Key::Session(user.id, id), &session)?;
        Ok(Some((user, session)))
    }

    fn end_sessions(&mut self, user: UserId) -> Result<()> {
        for session in self.state.sessions_of(user)? {
            self.delete(&Key::Session(user, session.id));
        }
        Ok(())
    }

    fn attempt(&mut self, subjects: &[Subject]) -> Result<Attempt> {
        self.forget_windows()?;
        let mut counts = Vec::with_capacity(subjects.len());
        let mut wait = None;
        for subject in subjects {
            let end = subject.window_end(self.now);
            let count: u32 = self.state.read(&Key::Attempt(end, subject.id))?.unwrap_or(0);
            if count >= subject.limit {
                wait = wait.max(Some(end));
            }
            counts.push((Key::Attempt(end, subject.id), count + 1));
        }
        if let Some(end) = wait {
            return Ok(Attempt::Until(end));
        }
        for (key, count) in counts {
            self.put(&key, &count)?;
        }
        Ok(Attempt::Let)
    }

    /// Deletes a few counts of windows that are over: as many come as go, in the long run.
    fn forget_windows(&mut self) -> Result<()> {
        let (from, _) = Table::Attempt.range();
        let to = Key::Attempt(self.now, [0; 16]).encode();
        let mut over = Vec::new();
        engine(self.state.kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
            over.extend(dated_in(key));
            until(over.len(), FORGOTTEN_AT_ONCE)
        }))?;
        for (end, id) in over {
            self.delete(&Key::Attempt(end, id));
        }
        Ok(())
    }
}
