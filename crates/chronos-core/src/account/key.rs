//! API keys: what a program shows in place of its user.

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::{KeyId, Timestamp, UserId};

/// What a program shows in place of its user: good for what the user may do, within its scopes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    /// Identifies it, and is part of what is shown.
    pub id: KeyId,
    /// In whose place it stands.
    pub user: UserId,
    /// What people call it.
    pub name: Box<str>,
    /// What proves the secret part of it.
    pub digest: Digest,
    /// What it is good for.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself, if it does.
    pub expires_at: Option<Timestamp>,
    /// When it was last seen, to within some minutes.
    pub last_used_at: Option<Timestamp>,
}

impl ApiKey {
    /// Keys that a user may have at once.
    pub const MOST: usize = 100;
    /// Characters that its name may have.
    pub const LONGEST_NAME: usize = 100;

    /// Whether it is good at `now`.
    #[must_use]
    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}

/// What a key is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scopes {
    /// To be told things.
    pub read: bool,
    /// To change things.
    pub write: bool,
    /// To do what only an admin does.
    pub admin: bool,
}

impl Scopes {
    /// Everything.
    pub const ALL: Self = Self { read: true, write: true, admin: true };

    /// Their names.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let all = [("read", self.read), ("write", self.write), ("admin", self.admin)];
        all.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
    }

    /// The scopes of these names; `None` if one of them is none.
    #[must_use]
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut scopes = Self::default();
        for name in names {
            match name {
                "read" => scopes.read = true,
                "write" => scopes.write = true,
                "admin" => scopes.admin = true,
                _ => return None,
            }
        }
        Some(scopes)
    }
}
