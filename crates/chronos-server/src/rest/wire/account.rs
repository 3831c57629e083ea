//! Accounts as JSON: users, what they get in with, and what of it is shown.

use chronos_core::account::{ApiKey, Role};
use chronos_core::{Timestamp, account};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::Tokens;
use crate::problem::FieldError;

/// A name and a password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "ada", "password": "correct horse battery"}))]
pub(in crate::rest) struct Credentials {
    #[schema(min_length = 1, max_length = 64)]
    pub(in crate::rest) username: String,
    #[schema(format = Password, min_length = 1, max_length = 1024)]
    pub(in crate::rest) password: String,
}

/// A user to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "bob", "password": "correct horse battery", "role": "user"}))]
pub(in crate::rest) struct NewUser {
    #[schema(min_length = 1, max_length = 64)]
    pub(in crate::rest) username: String,
    #[schema(format = Password, min_length = 8, max_length = 1024)]
    pub(in crate::rest) password: String,
    /// `user` if left out.
    #[schema(example = "user")]
    role: Option<String>,
}

/// What changes about a user; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "viewer"}))]
pub(in crate::rest) struct UserPatch {
    #[schema(example = "viewer")]
    role: Option<String>,
    /// Whether the user is shut out.
    pub(in crate::rest) disabled: Option<bool>,
    /// A new password.
    #[schema(format = Password, min_length = 8, max_length = 1024)]
    pub(in crate::rest) password: Option<String>,
}

impl NewUser {
    pub(in crate::rest) fn role(&self) -> Result<Role, FieldError> {
        self.role.as_deref().map_or(Ok(Role::User), role)
    }
}

impl UserPatch {
    pub(in crate::rest) fn role(&self) -> Result<Option<Role>, FieldError> {
        self.role.as_deref().map(role).transpose()
    }
}

fn role(name: &str) -> Result<Role, FieldError> {
    Role::parse(name).ok_or_else(|| {
        let shown: String = name.chars().take(30).collect();
        FieldError::new("role", format!("{shown:?} is not accepted; use user, viewer or admin"))
    })
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct User {
    #[schema(format = "uuid")]
    id: String,
    username: String,
    /// `user` sees and changes its own jobs, `viewer` sees all and changes nothing, `admin` does
    /// everything.
    #[schema(example = "user")]
    role: &'static str,
    /// Whether the user is shut out.
    disabled: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    changed_at: Timestamp,
}

impl From<&account::User> for User {
    fn from(user: &account::User) -> Self {
        Self {
            id: user.id.to_string(),
            username: user.name.to_string(),
            role: user.role.as_str(),
            disabled: user.disabled,
            created_at: user.created_at,
            changed_at: user.changed_at,
        }
    }
}

/// What somebody gets in with.
#[derive(Serialize, ToSchema)]
pub(in crate::rest) struct Login {
    /// To be sent with each request, as `Authorization: Bearer`.
    token: String,
    #[schema(example = "Bearer")]
    token_type: &'static str,
    /// When the token ends.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// For POST /auth/refresh, once.
    refresh_token: String,
    /// When a password is needed again.
    #[schema(value_type = String, format = DateTime)]
    refresh_expires_at: Timestamp,
    user: User,
}

impl From<Tokens> for Login {
    fn from(tokens: Tokens) -> Self {
        Self {
            token: tokens.access.expose().into(),
            token_type: "Bearer",
            expires_at: tokens.expires_at,
            refresh_token: tokens.refresh.expose().into(),
            refresh_expires_at: tokens.refresh_expires_at,
            user: (&tokens.user).into(),
        }
    }
}

/// An API key, without what proves it.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct Key {
    #[schema(format = "uuid")]
    id: String,
    name: String,
    #[schema(example = json!(["read", "write"]))]
    scopes: Vec<&'static str>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// To within ten minutes.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
}

impl From<&ApiKey> for Key {
    fn from(key: &ApiKey) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name.to_string(),
            scopes: key.scopes.names(),
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
        }
    }
}
