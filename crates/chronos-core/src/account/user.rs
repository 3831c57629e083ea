//! Users: who they are, what they may do, and how that changes.

use serde::{Deserialize, Serialize};

use super::{PasswordHash, UserName};
use crate::{Timestamp, UserId};

/// Somebody who may ask for something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Identifies the user for good: another one of the same name is another user.
    pub id: UserId,
    /// What people call the user; unique.
    pub name: UserName,
    /// What the user may do.
    pub role: Role,
    /// What proves the user's password.
    pub password: PasswordHash,
    /// Grows when everything that was handed out to the user must end.
    pub generation: u64,
    /// Whether the user may ask for nothing at present.
    pub disabled: bool,
    /// When the user was made.
    pub created_at: Timestamp,
    /// When anything of this last changed.
    pub changed_at: Timestamp,
}

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Sees and changes what is the user's own.
    User,
    /// Sees everything and changes nothing.
    Viewer,
    /// Sees and changes everything.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::User, Self::Viewer, Self::Admin];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Viewer => "viewer",
            Self::Admin => "admin",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// A user to be made.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// An id that no user has.
    pub id: UserId,
    /// A name that no user has.
    pub name: UserName,
    /// What the user may do; the first user is an admin all the same.
    pub role: Role,
    /// What proves the user's password.
    pub password: PasswordHash,
}

/// When a user may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admit {
    /// Only if there is no user yet.
    First,
    /// At any time.
    Anytime,
}

/// What changes about a user; what is left out stays.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    /// Another role.
    pub role: Option<Role>,
    /// Whether the user may ask for nothing; ends what was handed out.
    pub disabled: Option<bool>,
    /// Another password; ends what was handed out.
    pub password: Option<PasswordHash>,
    /// The same password, hashed anew.
    pub rehashed: Option<PasswordHash>,
}

impl User {
    /// The user as made at `now`, alone or among others.
    #[must_use]
    pub fn new(new: NewUser, is_first: bool, now: Timestamp) -> Self {
        let NewUser { id, name, role, password } = new;
        let role = if is_first { Role::Admin } else { role };
        let (created_at, changed_at) = (now, now);
        Self { id, name, role, password, generation: 1, disabled: false, created_at, changed_at }
    }

    /// Whether the user can change what others may do.
    #[must_use]
    pub fn rules(&self) -> bool {
        self.role == Role::Admin && !self.disabled
    }

    /// The user after a change.
    #[must_use]
    pub fn changed(&self, change: UserChange, now: Timestamp) -> Self {
        let UserChange { role, disabled, password, rehashed } = change;
        let mut user = self.clone();
        user.role = role.unwrap_or(user.role);
        let ends = password.is_some() || disabled.is_some_and(|it| it != user.disabled);
        user.disabled = disabled.unwrap_or(user.disabled);
        user.password = password.or(rehashed).unwrap_or(user.password);
        if ends {
            user.generation += 1;
        }
        if user != *self {
            user.changed_at = now;
        }
        user
    }
}
