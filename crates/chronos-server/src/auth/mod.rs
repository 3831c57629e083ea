//! Authentication and authorisation: who asks, and whether they may.

mod access;
mod caller;
mod files;
mod guard;
mod jwt;
mod limits;
mod login;
mod passwords;
mod provider;
mod secret;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use chronos_core::Timestamp;
use chronos_core::account::{Accounts, Digest, Scopes};
use chronos_engine::Clock;
use tracing::{info, warn};

pub use access::{Access, TABLE};
pub use files::Error;
pub use limits::Attempts;

pub(crate) use caller::{Caller, LOCAL, Proof};
pub(crate) use files::{read as read_private, read_local, write as write_private};
pub(crate) use guard::authorise;
pub(crate) use limits::Peer;
pub(crate) use login::{NewKey, Tokens};

use crate::problem::Problem;
use crate::quotas::{Quotas, Rate};

/// Bytes of a token that is looked at.
const LONGEST_TOKEN: usize = 2_048;
/// A key's last use is noted this often at most, because that is a write.
const NOTED_EVERY: Duration = Duration::from_mins(10);
/// How often it is looked at whether a stream's caller may still listen.
const LOOKED_EVERY: Duration = Duration::from_secs(5);

/// How a daemon knows who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthConfig {
    /// Whether anyone may sign up once there are users.
    pub open_signup: bool,
    /// The file with the key that signs tokens, which the nodes of a cluster share; one in the data
    /// directory if left out.
    pub key_file: Option<PathBuf>,
    /// How much one account may take up.
    pub quotas: Quotas,
    /// How often somebody may try to get in.
    pub attempts: Attempts,
}

/// Knows who asks.
pub(crate) struct Auth {
    accounts: Arc<dyn Accounts>,
    clock: Arc<dyn Clock>,
    tokens: jwt::Tokens,
    passwords: passwords::Passwords,
    /// What proves the token of this machine.
    local: Option<Digest>,
    /// Whether whoever can connect is on this machine.
    only_local: bool,
    open_signup: bool,
    quotas: Quotas,
    attempts: Attempts,
    rate: Rate,
    /// Set once there are users, which is for good.
    has_users: AtomicBool,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auth").finish_non_exhaustive()
    }
}

impl Auth {
    /// Knows the accounts of a store; keeps its files in `directory`, for a daemon at `address`.
    pub(crate) fn open(
        config: &AuthConfig,
        accounts: Arc<dyn Accounts>,
        clock: Arc<dyn Clock>,
        directory: Option<&Path>,
        address: SocketAddr,
    ) -> Result<Self, Error> {
        if let Some(directory) = directory {
            files::make(directory)?;
        }
        let key = files::key(config.key_file.as_deref(), directory)?;
        let local =
            directory.map(|directory| files::write_local(directory, address)).transpose()?;
        Ok(Self {
            accounts,
            clock,
            tokens: jwt::Tokens::new(&key),
            passwords: passwords::Passwords::new(),
            local: local.map(|secret| secret::digest(&secret)),
            only_local: address.ip().to_canonical().is_loopback(),
            open_signup: config.open_signup,
            quotas: config.quotas.clone(),
            attempts: config.attempts.clone(),
            rate: Rate::default(),
            has_users: AtomicBool::new(false),
        })
    }

    pub(crate) fn accounts(&self) -> &dyn Accounts {
        self.accounts.as_ref()
    }

    /// Whether whoever can connect is on this machine.
    pub(crate) fn is_only_local(&self) -> bool {
        self.only_local
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How much one account may take up.
    pub(crate) fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Counts a request of this caller; refused if it sent too many.
    fn spend(&self, caller: &Caller) -> Result<(), Problem> {
        Ok(self.rate.spend(&self.quotas, caller, self.clock.monotonic())?)
    }

    /// Whether anyone must say who they are because there are users.
    async fn has_users(&self) -> Result<bool, Problem> {
        if self.has_users.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let has_users = self.accounts.has_users().await?;
        self.has_users.fetch_or(has_users, Ordering::Relaxed);
        Ok(has_users)
    }

    /// Tells whoever reads the log how the first user is made where nobody is served unasked.
    pub(crate) async fn tell_of_first_user(&self) {
        if !self.only_local && matches!(self.has_users().await, Ok(false)) {
            info!("No users yet: make the first on this machine with chronos users create");
        }
    }

    /// Who sent a request with these headers.
    pub(crate) async fn identify(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let Some(first) = given.next() else {
            if self.only_local && !self.has_users().await? {
                return Ok(Caller::local());
            }
            return Err(unknown("log in, and send Authorization: Bearer with the token"));
        };
        if given.next().is_some() {
            let detail = "there are several Authorization headers; send one";
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        }
        let token = first.to_str().ok().and_then(bearer);
        let token = token.ok_or_else(|| unknown("send Authorization: Bearer with a token"))?;
        self.known(token).await?.ok_or_else(|| unknown("the token is wrong or no longer good"))
    }

    /// Whose token this is, if it is anyone's.
    async fn known(&self, token: &str) -> Result<Option<Caller>, Problem> {
        if token.len() > LONGEST_TOKEN {
            return Ok(None);
        }
        if let Some(shown) = secret::read_local(token) {
            let is_ours = self.local.is_some_and(|local| local.matches(&shown));
            return Ok(is_ours.then(Caller::local));
        }
        if token.starts_with(secret::KEY) {
            return self.known_by_key(token).await;
        }
        let now = self.now();
        let Some(subject) = self.tokens.read(token, now) else {
            return Ok(None);
        };
        let jwt::Subject { user, session, generation } = subject;
        let user = self.accounts.user_of_session(user, session, now).await?;
        let user = user.filter(|user| user.generation == generation);
        Ok(user.map(|user| {
            let proof = Proof::Login { user: user.id, session };
            Caller::user(&user, Scopes::ALL, proof)
        }))
    }

    async fn known_by_key(&self, token: &str) -> Result<Option<Caller>, Problem> {
        let Some((id, shown)) = secret::read_key(token) else {
            return Ok(None);
        };
        let Some((key, user)) = self.accounts.key(id).await? else {
            return Ok(None);
        };
        let now = self.now();
        if !key.digest.matches(&shown) || !key.holds_at(now) || user.disabled {
            return Ok(None);
        }
        if key.last_used_at.is_none_or(|last| now.since(last) >= NOTED_EVERY)
            && let Err(error) = self.accounts.note_key_use(id, now).await
        {
            // A store that cannot be written to can still be read.
            warn!(%error, key = %id, "Use of an API key not noted");
        }
        Ok(Some(Caller::user(&user, key.scopes, Proof::Key { user: user.id, key: id })))
    }

    /// Waits until the caller is no longer who it was. That its token has run out does not matter: what it
    /// asked for goes on as long as its session or its key does.
    pub(crate) async fn until_revoked(self: Arc<Self>, caller: Caller) {
        loop {
            tokio::time::sleep(LOOKED_EVERY).await;
            // A store that does not answer for a moment shuts nobody out.
            if matches!(self.is_still(&caller).await, Ok(false)) {
                return;
            }
        }
    }

    async fn is_still(&self, caller: &Caller) -> Result<bool, Problem> {
        let now = self.now();
        let user = match caller.proof {
            Proof::Local => return Ok(true),
            Proof::Login { user, session } => {
                self.accounts.user_of_session(user, session, now).await?
            }
            Proof::Key { key, .. } => {
                let found = self.accounts.key(key).await?;
                let found = found.filter(|(key, user)| key.holds_at(now) && !user.disabled);
                found.map(|(_, user)| user)
            }
        };
        Ok(user.is_some_and(|user| user.role == caller.role))
    }
}

/// The token of `Bearer TOKEN`.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unknown(what_to_do: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, format!("it is not known who asks: {what_to_do}"))
}
