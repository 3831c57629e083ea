//! Rows of accounts, read back.

use chronos_core::account::{ApiKey, Digest, PasswordHash, Role, Scopes, User, UserName};
use chronos_core::store::{Error, Result};
use sqlx::postgres::PgRow;

use crate::postgres::values::Fields;

pub(super) fn read_user(row: &PgRow) -> Result<User> {
    let fields = &mut Fields::of(row);
    Ok(User {
        id: fields.id()?,
        name: UserName::parse(fields.get()?).map_err(|error| damaged(&error.to_string()))?,
        role: Role::parse(fields.get()?).ok_or_else(|| damaged("an unknown role"))?,
        password: PasswordHash::new(fields.get::<&str>()?),
        generation: fields.count()?,
        disabled: fields.get()?,
        created_at: fields.time()?,
        changed_at: fields.time()?,
    })
}

pub(super) fn read_key(row: &PgRow) -> Result<ApiKey> {
    let fields = &mut Fields::of(row);
    let (id, user, name) = (fields.id()?, fields.id()?, fields.get::<&str>()?.into());
    let digest = digest(fields)?;
    let scopes: Vec<String> = fields.get()?;
    let scopes = Scopes::parse(scopes.iter().map(String::as_str));
    Ok(ApiKey {
        id,
        user,
        name,
        digest,
        scopes: scopes.ok_or_else(|| damaged("an unknown scope"))?,
        created_at: fields.time()?,
        expires_at: fields.maybe_time()?,
        last_used_at: fields.maybe_time()?,
    })
}

pub(super) fn digest(fields: &mut Fields<'_>) -> Result<Digest> {
    let bytes: &[u8] = fields.get()?;
    let bytes = bytes.try_into().map_err(|_| damaged("a digest of another length"))?;
    Ok(Digest::new(bytes))
}

fn damaged(problem: &str) -> Error {
    Error::Corrupt(format!("an account's row: {problem}"))
}
