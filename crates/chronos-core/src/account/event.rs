//! Account events: what was done about accounts or refused, by whom, when and from where.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Role, User, UserChange, UserName};
use crate::{KeyId, Timestamp, UserId};

/// Who does something about accounts, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// When.
    pub at: Timestamp,
    /// The user who does it; nobody where whoever asks is not known yet, or is on the daemon's machine.
    pub by: Option<UserId>,
    /// Where from; `None` for the program itself.
    pub from: Option<IpAddr>,
}

/// What the program itself does.
impl From<Timestamp> for Act {
    fn from(at: Timestamp) -> Self {
        Self { at, by: None, from: None }
    }
}

/// Something that was done about an account, or refused. Nothing changes it afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the order of all of them, from 1, without gaps.
    pub sequence: u64,
    /// Who did it, and when.
    pub act: Act,
    /// Whom it is about; nobody where a login was refused for a name that nobody has.
    pub user: Option<(UserId, UserName)>,
    /// What was done.
    pub what: What,
}

impl Event {
    /// As many as are kept; the oldest go first.
    pub const MOST: u64 = 100_000;
}

/// What was done about an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// The user was made.
    UserCreated {
        /// What the user may do.
        role: Role,
    },
    /// The user may do something else.
    RoleChanged {
        /// What it was before.
        from: Role,
        /// What it is now.
        to: Role,
    },
    /// The user was shut out.
    UserDisabled,
    /// The user was let in again.
    UserEnabled,
    /// The user has another password.
    PasswordChanged,
    /// The user was removed, with all sessions and keys.
    UserDeleted,
    /// The user has one more key.
    KeyCreated {
        /// Which it is.
        key: KeyId,
    },
    /// A key of the user ended.
    KeyRevoked {
        /// Which it was.
        key: KeyId,
    },
    /// Somebody was not let in.
    LoginRefused,
    /// The user logged in.
    LoggedIn,
}

impl What {
    /// What a change did to a user, one by one.
    #[must_use]
    pub fn of(change: &UserChange, before: &User, after: &User) -> Vec<Self> {
        let mut done = Vec::new();
        if before.role != after.role {
            done.push(Self::RoleChanged { from: before.role, to: after.role });
        }
        if before.disabled != after.disabled {
            done.push(if after.disabled { Self::UserDisabled } else { Self::UserEnabled });
        }
        // The same one, hashed anew, is no change to anybody.
        if change.password.is_some() {
            done.push(Self::PasswordChanged);
        }
        done
    }

    /// Every type of event there is.
    pub const KINDS: [&'static str; 10] = [
        "auth.user_created",
        "auth.role_changed",
        "auth.user_disabled",
        "auth.user_enabled",
        "auth.password_changed",
        "auth.user_deleted",
        "auth.key_created",
        "auth.key_revoked",
        "auth.login_refused",
        "auth.logged_in",
    ];

    /// The type of the event, as it is shown.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::UserCreated { .. } => "auth.user_created",
            Self::RoleChanged { .. } => "auth.role_changed",
            Self::UserDisabled => "auth.user_disabled",
            Self::UserEnabled => "auth.user_enabled",
            Self::PasswordChanged => "auth.password_changed",
            Self::UserDeleted => "auth.user_deleted",
            Self::KeyCreated { .. } => "auth.key_created",
            Self::KeyRevoked { .. } => "auth.key_revoked",
            Self::LoginRefused => "auth.login_refused",
            Self::LoggedIn => "auth.logged_in",
        }
    }

    /// The event in one sentence.
    #[must_use]
    pub fn summary(self) -> String {
        match self {
            Self::UserCreated { role } => format!("made with the role {}", role.as_str()),
            Self::RoleChanged { from, to } => {
                format!("the role {} in place of {}", to.as_str(), from.as_str())
            }
            Self::UserDisabled => "shut out".into(),
            Self::UserEnabled => "let in again".into(),
            Self::PasswordChanged => "another password".into(),
            Self::UserDeleted => "removed with all sessions and keys".into(),
            Self::KeyCreated { key } => format!("API key {key} made"),
            Self::KeyRevoked { key } => format!("API key {key} revoked"),
            Self::LoginRefused => "a login was refused".into(),
            Self::LoggedIn => "logged in".into(),
        }
    }

    /// The key that it is about.
    #[must_use]
    pub fn key(self) -> Option<KeyId> {
        match self {
            Self::KeyCreated { key } | Self::KeyRevoked { key } => Some(key),
            _ => None,
        }
    }
}
