//! Getting in: signing up, logging in, going on and leaving; and keys for programs.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use chronos_core::account::{
    Act, Admit, ApiKey, Attempt, NewUser, Role, Scopes, Session, Subject, User, UserChange,
    UserName,
};
use chronos_core::{KeyId, SessionId, Timestamp, UserId};
use tracing::{info, warn};

use super::access::{self, Access};
use super::caller::Actor;
use super::secret::{self, Token};
use super::{Auth, Caller, Peer, passwords};
use crate::problem::{FieldError, Problem};

/// How long a login goes on without a password.
const SESSION: Duration = Duration::from_hours(30 * 24);

/// What somebody gets who logged in.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) user: User,
    /// Shown with each request.
    pub(crate) access: Token,
    pub(crate) expires_at: Timestamp,
    /// Shown for the next of these.
    pub(crate) refresh: Token,
    pub(crate) refresh_expires_at: Timestamp,
}

/// A key to be made.
#[derive(Debug)]
pub(crate) struct NewKey {
    pub(crate) name: String,
    pub(crate) scopes: Scopes,
    pub(crate) expires_at: Option<Timestamp>,
}

/// When a user may be made, and who makes it.
type Terms = (Admit, Actor);

impl Auth {
    /// Makes a user of whoever asks: the first as an admin, later ones if an admin asks or anyone may.
    pub(crate) async fn sign_up(
        &self,
        headers: &HeaderMap,
        name: &str,
        password: String,
        peer: Peer,
    ) -> Result<User, Problem> {
        let terms = self.may_sign_up(headers, peer).await?;
        self.count(&self.attempts.address(peer)).await?;
        let user = self.create_user(name, password, Role::User, terms).await?;
        info!(user = %user.id, role = user.role.as_str(), "User signed up");
        Ok(user)
    }

    async fn may_sign_up(&self, headers: &HeaderMap, peer: Peer) -> Result<Terms, Problem> {
        let has_users = self.has_users().await?;
        if has_users && self.open_signup {
            return Ok((Admit::Anytime, Actor::unknown(peer)));
        }
        if headers.contains_key(header::AUTHORIZATION) {
            let caller = self.identify(headers).await?;
            return match access::refusal(&caller, Access::Admin) {
                None => Ok((Admit::Anytime, caller.act(peer))),
                Some(refusal) => Err(Problem::new(StatusCode::FORBIDDEN, refusal)),
            };
        }
        if !has_users && self.only_local {
            return Ok((Admit::First, Actor::unknown(peer)));
        }
        let detail = if has_users {
            "sign-up is closed; ask an admin for a user of your own"
        } else {
            "there are no users yet; make the first on the daemon's own machine, with chronos users \
             create"
        };
        Err(Problem::new(StatusCode::FORBIDDEN, detail))
    }

    /// Makes a user.
    pub(crate) async fn create_user(
        &self,
        name: &str,
        password: String,
        role: Role,
        (admit, by): Terms,
    ) -> Result<User, Problem> {
        let name = UserName::parse(name);
        let name = name.map_err(|bad| invalid(FieldError::new("username", bad)))?;
        passwords::check_new("password", &password, &name).map_err(invalid)?;
        let password = self.passwords.hash(password).await?;
        let now = self.now();
        let new = NewUser { id: UserId::new(now, secret::random()?), name, role, password };
        Ok(self.accounts.create_user(new, admit, by.at(now)).await?)
    }

    /// Lets somebody in who knows a password. Whoever does not is told the same, as late, whether
    /// there is such a user or not.
    pub(crate) async fn log_in(
        &self,
        name: &str,
        password: String,
        peer: Peer,
    ) -> Result<Tokens, Problem> {
        passwords::check_length("password", &password).map_err(invalid)?;
        // What cannot be a name is counted as one all the same.
        let name = UserName::parse(name).ok();
        let key = name.as_ref().map(UserName::key).unwrap_or_default();
        let subjects = self.attempts.login(&key, peer);
        self.count(&subjects).await?;
        let user = match &name {
            Some(name) => self.accounts.user_named(name).await?,
            None => None,
        };
        let known = user.as_ref().map(|user| user.password.clone());
        let proven = self.passwords.verify(known, password.clone()).await?;
        let named = user.as_ref().map(|user| user.id);
        let Some(user) = user.filter(|user| proven && !user.disabled) else {
            warn!(address = %peer.0, "Login refused");
            self.accounts.refuse_login(named, Actor::unknown(peer).at(self.now())).await?;
            return Err(wrong());
        };
        self.accounts.forget_attempts(&subjects[..2], self.now()).await?;
        if passwords::is_outdated(&user.password) {
            self.rehash(user.id, password).await?;
        }
        self.open_session(user, peer).await
    }

    async fn rehash(&self, user: UserId, password: String) -> Result<(), Problem> {
        let rehashed = Some(self.passwords.hash(password).await?);
        let change = UserChange { rehashed, ..UserChange::default() };
        self.accounts.change_user(user, change, self.now().into()).await?;
        Ok(())
    }

    async fn open_session(&self, user: User, from: Peer) -> Result<Tokens, Problem> {
        let now = self.now();
        let secret = secret::random()?;
        let session = Session {
            id: SessionId::new(now, secret::random()?),
            user: user.id,
            digest: secret::digest(&secret),
            opened_at: now,
            expires_at: now.after(SESSION),
        };
        // A user who was disabled or deleted meanwhile is not let in.
        let act = Act { at: now, by: Some(user.id), from: Some(from.0) };
        let opened = self.accounts.open_session(session.clone(), act).await;
        opened.map_err(|error| match error {
            chronos_core::account::Error::NoSuchUser(_) => wrong(),
            error => error.into(),
        })?;
        info!(user = %user.id, session = %session.id, "Logged in");
        self.hand_out(user, &session, &secret)
    }

    fn hand_out(
        &self,
        user: User,
        session: &Session,
        secret: &[u8; 32],
    ) -> Result<Tokens, Problem> {
        let made = self.tokens.make(&user, session.id, self.now());
        let (access, expires_at) = made.map_err(|error| {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("no token was made: {error}"))
        })?;
        let refresh = Token::refresh(user.id, session.id, secret);
        let refresh_expires_at = session.expires_at;
        Ok(Tokens { user, access: access.into(), expires_at, refresh, refresh_expires_at })
    }

    /// Goes on with a login. A token that was used before ends it: two have it, and one is a thief.
    pub(crate) async fn refresh(&self, token: &str, peer: Peer) -> Result<Tokens, Problem> {
        self.count(&self.attempts.address(peer)).await?;
        let Some((user, session, shown)) = secret::read_refresh(token) else {
            return Err(over());
        };
        let next = secret::random()?;
        let digest = secret::digest(&next);
        let rotated = self.accounts.rotate_session(user, session, shown, digest, self.now()).await;
        if matches!(rotated, Err(chronos_core::account::Error::SessionReused)) {
            warn!(%user, %session, address = %peer.0, "Refresh token used twice: session ended");
            return Err(over());
        }
        let (user, session) = rotated?;
        self.hand_out(user, &session, &next)
    }

    /// Gives a user another password, which ends all sessions, and begins a new one.
    pub(crate) async fn change_password(
        &self,
        user: UserId,
        current: String,
        new: String,
        by: Actor,
    ) -> Result<Tokens, Problem> {
        passwords::check_length("current_password", &current).map_err(invalid)?;
        let known = self.accounts.user(user).await?;
        passwords::check_new("new_password", &new, &known.name).map_err(invalid)?;
        let subjects = self.attempts.login(&known.name.key(), by.peer());
        self.count(&subjects).await?;
        if !self.passwords.verify(Some(known.password), current).await? {
            self.accounts.refuse_login(Some(user), by.at(self.now())).await?;
            return Err(invalid(FieldError::new("current_password", "it is wrong")));
        }
        self.accounts.forget_attempts(&subjects[..2], self.now()).await?;
        let password = Some(self.passwords.hash(new).await?);
        let change = UserChange { password, ..UserChange::default() };
        let user = self.accounts.change_user(user, change, by.at(self.now())).await?;
        info!(user = %user.id, "Password changed");
        self.open_session(user, by.peer()).await
    }

    /// What changes about a user as an admin asks for it.
    pub(crate) async fn change_user(
        &self,
        user: UserId,
        (role, disabled): (Option<Role>, Option<bool>),
        password: Option<String>,
        by: Actor,
    ) -> Result<User, Problem> {
        let known = self.accounts.user(user).await?;
        let password = match password {
            None => None,
            Some(password) => {
                passwords::check_new("password", &password, &known.name).map_err(invalid)?;
                Some(self.passwords.hash(password).await?)
            }
        };
        let change = UserChange { role, disabled, password, rehashed: None };
        let user = self.accounts.change_user(user, change, by.at(self.now())).await?;
        let role = user.role.as_str();
        info!(user = %user.id, role, disabled = user.disabled, "User changed");
        Ok(user)
    }

    /// Makes an API key, which is shown this once.
    pub(crate) async fn create_key(
        &self,
        caller: &Caller,
        new: NewKey,
        peer: Peer,
    ) -> Result<(ApiKey, Token), Problem> {
        let user = caller.id().ok_or_else(wrong)?;
        let (now, secret) = (self.now(), secret::random()?);
        let key = ApiKey {
            id: KeyId::new(now, secret::random()?),
            user,
            name: new.name.into(),
            digest: secret::digest(&secret),
            scopes: new.scopes,
            created_at: now,
            expires_at: new.expires_at,
            last_used_at: None,
        };
        self.accounts.create_key(key.clone(), caller.act(peer).at(now)).await?;
        info!(%user, key = %key.id, "API key made");
        let shown = Token::key(key.id, &secret);
        Ok((key, shown))
    }

    /// Counts an attempt, unless there were too many.
    async fn count(&self, subjects: &[Subject]) -> Result<(), Problem> {
        let now = self.now();
        match self.accounts.attempt(subjects, now).await? {
            Attempt::Let => Ok(()),
            Attempt::Until(end) => {
                let wait = end.since(now);
                let detail = format!("too many attempts; try again in {} s", wait.as_secs() + 1);
                Err(Problem::too_many(detail, wait))
            }
        }
    }
}

fn invalid(error: FieldError) -> Problem {
    Problem::invalid(vec![error])
}

fn wrong() -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "the username or the password is wrong")
}

fn over() -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "the session is over; log in again")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
    use chronos_core::account::{Accounts, PasswordHash};
    use chronos_engine::SystemClock;
    use chronos_store::{EmbeddedStore, Retention};

    use super::*;
    use crate::auth::AuthConfig;

    #[tokio::test]
    async fn a_hash_of_an_older_cost_is_made_anew_at_the_next_login() {
        let store = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
        let (clock, address) = (Arc::new(SystemClock::new()), "127.0.0.1:1".parse().unwrap());
        let auth = Auth::open(&AuthConfig::default(), store.clone(), clock, None, address).unwrap();
        let cheap = Params::new(8, 1, 1, None).unwrap();
        let cheap = Argon2::new(Algorithm::Argon2id, Version::V0x13, cheap);
        let old = cheap.hash_password(b"correct horse").unwrap().to_string();
        let new = NewUser {
            id: UserId::from_bytes([1; 16]),
            name: UserName::parse("ada").unwrap(),
            role: Role::Admin,
            password: PasswordHash::new(old.clone()),
        };
        let made = store.create_user(new, Admit::First, auth.now().into()).await.unwrap();
        let peer = Peer("127.0.0.1".parse().unwrap());
        assert!(auth.log_in("ada", "wrong horse".into(), peer).await.is_err());
        assert_eq!(store.user(made.id).await.unwrap().password.expose(), old);
        let tokens = auth.log_in("ada", "correct horse".into(), peer).await.unwrap();
        let user = store.user(made.id).await.unwrap();
        assert!(!passwords::is_outdated(&user.password));
        assert_eq!(user.generation, made.generation, "nobody is logged out by it");
        let shown = tokens.access.expose().to_owned();
        assert!(auth.known(&shown).await.unwrap().is_some());
        auth.log_in("ada", "correct horse".into(), peer).await.unwrap();
    }
}
