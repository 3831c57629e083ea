//! The port: what a store must remember about accounts, each verb one atomic step.

use async_trait::async_trait;

use super::{
    Act, Admit, ApiKey, Attempt, Digest, Event, NewUser, Session, Subject, User, UserChange,
    UserName,
};
use crate::{KeyId, SessionId, Timestamp, UserId, store};

/// What could not be done about an account, said so that the caller knows what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another user has the name.
    #[error("a user named \"{0}\" already exists")]
    NameTaken(UserName),
    /// There are users already.
    #[error("there are users already")]
    NotFirst,
    /// There is no such user.
    #[error("no user with id {0}")]
    NoSuchUser(UserId),
    /// Nobody would be left to give rights.
    #[error("this is the last admin; make another user one first")]
    LastAdmin,
    /// There is no such session, or no more.
    #[error("the session is over")]
    NoSuchSession,
    /// A refresh token came that was used before, or never given out: its session is over.
    #[error("the refresh token was used before, so its session is over")]
    SessionReused,
    /// There is no such key.
    #[error("no API key with id {0}")]
    NoSuchKey(KeyId),
    /// The user has as many keys as there may be.
    #[error("the user has {} API keys, and more are not accepted; revoke one first", ApiKey::MOST)]
    TooManyKeys,
    /// The store cannot do its work.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What a verb gives back.
pub type Result<T> = std::result::Result<T, Error>;

/// A durable memory for accounts. Whatever is acknowledged survives a crash. What changes a user or the
/// user's keys, and every login, is told by an event, in the same step.
#[async_trait]
pub trait Accounts: Send + Sync + 'static {
    /// Makes a user; the first one is an admin, whatever is asked for.
    async fn create_user(&self, new: NewUser, admit: Admit, act: Act) -> Result<User>;

    /// Whether there is any user. Once there is, there always will be: the last admin stays.
    async fn has_users(&self) -> Result<bool>;

    /// The user of this id.
    async fn user(&self, user: UserId) -> Result<User>;

    /// The user of this name, in any spelling.
    async fn user_named(&self, name: &UserName) -> Result<Option<User>>;

    /// Users in the order of their ids, from after a given one.
    async fn users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>>;

    /// Changes a user; ends the user's sessions if the generation grows by it. Refused if no enabled
    /// admin were left.
    async fn change_user(&self, user: UserId, change: UserChange, act: Act) -> Result<User>;

    /// Removes a user with all sessions and keys. Refused if no enabled admin were left.
    async fn delete_user(&self, user: UserId, act: Act) -> Result<()>;

    /// Begins a session of a user who is there and enabled; ends the oldest one past
    /// [`MAX_SESSIONS`](super::MAX_SESSIONS), and those that have expired.
    async fn open_session(&self, session: Session, act: Act) -> Result<()>;

    /// The user of a session that has not ended, if the user is enabled.
    async fn user_of_session(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<User>>;

    /// Puts a new refresh token in the place of the one that is shown. Any other ends the session:
    /// whoever shows it, or whoever showed it before, is a thief.
    async fn rotate_session(
        &self,
        user: UserId,
        session: SessionId,
        shown: Digest,
        next: Digest,
        now: Timestamp,
    ) -> Result<(User, Session)>;

    /// Ends a session; one that is over stays so.
    async fn end_session(&self, user: UserId, session: SessionId, now: Timestamp) -> Result<()>;

    /// Ends all sessions of a user.
    async fn end_sessions(&self, user: UserId, now: Timestamp) -> Result<()>;

    /// Makes a key of a user who is there.
    async fn create_key(&self, key: ApiKey, act: Act) -> Result<()>;

    /// A key that is there, expired or not, with its user.
    async fn key(&self, key: KeyId) -> Result<Option<(ApiKey, User)>>;

    /// A user's keys, in the order of their ids.
    async fn keys_of(&self, user: UserId) -> Result<Vec<ApiKey>>;

    /// Notes that a key was used; one that is gone stays so.
    async fn note_key_use(&self, key: KeyId, now: Timestamp) -> Result<()>;

    /// Ends a key of this user.
    async fn revoke_key(&self, user: UserId, key: KeyId, act: Act) -> Result<()>;

    /// Files that somebody was not let in who gave the name of this user, or of nobody.
    async fn refuse_login(&self, user: Option<UserId>, act: Act) -> Result<()>;

    /// What was done about accounts, newest first, from before a given one.
    async fn account_events(&self, before: Option<u64>, limit: usize) -> Result<Vec<Event>>;

    /// Counts an attempt by each subject, unless one of them has had too many: then by none.
    async fn attempt(&self, subjects: &[Subject], now: Timestamp) -> Result<Attempt>;

    /// Forgets the attempts of these subjects in their windows of this instant.
    async fn forget_attempts(&self, subjects: &[Subject], now: Timestamp) -> Result<()>;
}
