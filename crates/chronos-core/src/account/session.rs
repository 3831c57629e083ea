//! Sessions: a login that goes on, by refresh tokens of which each is good once.

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::{SessionId, Timestamp, UserId};

/// Sessions that a user may have at once; one more ends the oldest.
pub const MAX_SESSIONS: usize = 64;

/// A login that goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Identifies it.
    pub id: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// What proves the refresh token that is good next.
    pub digest: Digest,
    /// When it began.
    pub opened_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}
