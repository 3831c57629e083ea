//! Who asks: an identity with what it may do, the same for REST and gRPC.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use chronos_core::account::{Act, Role, Scopes, User};
use chronos_core::{JobSpec, KeyId, SessionId, Timestamp, UserId};

use super::limits::Peer;
use crate::problem::Problem;

/// Whose jobs are nobody's: made before there were users, or by the program itself.
pub(crate) const LOCAL: &str = "";

/// Whoever sent a request. Every handler takes one, and every job that it touches is checked against
/// it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose the jobs are that it makes, and which it sees whatever its role.
    pub(crate) owner: Box<str>,
    /// What it may do.
    pub(crate) role: Role,
    /// What of that its proof is good for.
    pub(crate) scopes: Scopes,
    /// How it is known.
    pub(crate) proof: Proof,
}

/// How a caller is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proof {
    /// It is on this machine: there are no users, or it showed the token of the data directory.
    Local,
    /// It logged in.
    Login { user: UserId, session: SessionId },
    /// It showed an API key.
    Key { user: UserId, key: KeyId },
}

impl Caller {
    /// Whoever runs the daemon.
    pub(super) fn local() -> Self {
        let (role, scopes, proof) = (Role::Admin, Scopes::ALL, Proof::Local);
        Self { owner: LOCAL.into(), role, scopes, proof }
    }

    /// A user, known like this.
    pub(super) fn user(user: &User, scopes: Scopes, proof: Proof) -> Self {
        Self { owner: user.id.to_string().into(), role: user.role, scopes, proof }
    }

    /// Whether it may be told about the jobs of everyone.
    pub(crate) fn sees_all(&self) -> bool {
        match self.role {
            Role::User => false,
            Role::Viewer | Role::Admin => true,
        }
    }

    /// Whether the job is there for this caller. What a role must not change, its routes refuse.
    pub(crate) fn sees(&self, spec: &JobSpec) -> bool {
        self.sees_all() || spec.owner == self.owner
    }

    /// Whether it is told where a job calls letter by letter. Whoever sees the jobs of others without
    /// having a say in them is not told the queries of URLs, which often hold tokens.
    pub(crate) fn sees_queries(&self, spec: &JobSpec) -> bool {
        match self.role {
            Role::Admin => true,
            Role::User | Role::Viewer => spec.owner == self.owner,
        }
    }

    /// Who it is, from this address, to whoever records what it does.
    pub(crate) fn act(&self, Peer(from): Peer) -> Actor {
        Actor { by: self.id(), from }
    }

    /// The user that it is.
    pub(crate) fn id(&self) -> Option<UserId> {
        match self.proof {
            Proof::Local => None,
            Proof::Login { user, .. } | Proof::Key { user, .. } => Some(user),
        }
    }
}

/// Whoever does something about accounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor {
    by: Option<UserId>,
    from: IpAddr,
}

impl Actor {
    /// Somebody at this address who is not known.
    pub(super) fn unknown(Peer(from): Peer) -> Self {
        Self { by: None, from }
    }

    /// Where it is.
    pub(super) fn peer(self) -> Peer {
        Peer(self.from)
    }

    /// What it does at this time.
    pub(crate) fn at(self, at: Timestamp) -> Act {
        Act { at, by: self.by, from: Some(self.from) }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Put there by whoever let the request in; a route without that lets nobody in.
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, "nobody said who asks"))
    }
}
