//! API keys: what a user's programs show in the user's place.

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chronos_core::account::{ApiKey, Scopes};
use chronos_core::{KeyId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api::{Api, json, made};
use super::auth::never_kept;
use super::body::Body;
use super::document::WhyNot;
use super::page::Page;
use super::query::Id;
use super::wire::Errors;
use super::wire::account::Key;
use crate::auth::{Caller, NewKey, Peer};
use crate::problem::{FieldError, Problem};

/// The keys of a user; there are never so many that they need a second page.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what the answer looks like")]
pub(super) struct Keys {
    items: Vec<Key>,
    next_cursor: Option<String>,
}

/// Lists one's API keys, without what proves them.
#[utoipa::path(get, path = "/api-keys", tag = "auth",
    responses(
        (status = 200, description = "The keys", body = Keys),
        WhyNot))]
pub(super) async fn list(State(api): State<Api>, caller: Caller) -> Result<Response, Problem> {
    let keys = api.auth.accounts().keys_of(user(&caller)?).await?;
    let items: Vec<Key> = keys.iter().map(Key::from).collect();
    Ok(json(&Page { items, next_cursor: None }))
}

/// An API key to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "nightly build", "scopes": ["read", "write"]}))]
pub(super) struct NewApiKey {
    /// What people call it.
    #[schema(min_length = 1, max_length = 100)]
    name: String,
    /// What it is good for: `read`, `write`, `admin`. It never does more than its user may.
    scopes: Vec<String>,
    /// When it ends; never if left out.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

/// An API key that was made.
#[derive(Serialize, ToSchema)]
pub(super) struct Made {
    #[serde(flatten)]
    about: Key,
    /// To be sent as `Authorization: Bearer`. It is shown this once.
    #[schema(example = "chr_AZDYx…")]
    key: String,
}

/// Makes an API key, which takes a login: no key makes another.
#[utoipa::path(post, path = "/api-keys", tag = "auth", request_body = NewApiKey,
    responses(
        (status = 201, description = "The key", body = Made),
        WhyNot))]
pub(super) async fn create(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    body: Body<NewApiKey>,
) -> Result<Response, Problem> {
    let new = read(body.value, api.auth.now()).map_err(Problem::invalid)?;
    let (key, shown) = api.auth.create_key(&caller, new, peer).await?;
    let told = Made { about: (&key).into(), key: shown.expose().into() };
    Ok(made(never_kept(json(&told)), &format!("/api-keys/{}", key.id), false))
}

fn read(asked: NewApiKey, now: Timestamp) -> Result<NewKey, Vec<FieldError>> {
    let mut errors = Errors::default();
    let NewApiKey { name, scopes, expires_at } = asked;
    let length = name.chars().count();
    let most = ApiKey::LONGEST_NAME;
    if !(1..=most).contains(&length) || name.chars().any(char::is_control) {
        let problem = format!("it is not accepted; use 1 to {most} characters on one line");
        errors.note::<()>(Err(FieldError::new("name", problem)));
    }
    let scopes = Scopes::parse(scopes.iter().map(String::as_str));
    let scopes = scopes.filter(|scopes| *scopes != Scopes::default()).ok_or_else(|| {
        FieldError::new("scopes", "they are not accepted; use some of read, write and admin")
    });
    let scopes = errors.note(scopes);
    if expires_at.is_some_and(|end| end <= now) {
        let problem = "it is past; use an instant to come, or leave it out";
        errors.note::<()>(Err(FieldError::new("expires_at", problem)));
    }
    errors.unless_any(scopes.map(|scopes| NewKey { name, scopes, expires_at }))
}

/// Ends one of one's API keys.
#[utoipa::path(delete, path = "/api-keys/{id}", tag = "auth",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 204, description = "The key is good for nothing"),
        WhyNot))]
pub(super) async fn revoke(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    Id(id): Id<KeyId>,
) -> Result<Response, Problem> {
    let act = caller.act(peer).at(api.auth.now());
    api.auth.accounts().revoke_key(user(&caller)?, id, act).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn user(caller: &Caller) -> Result<UserId, Problem> {
    caller.id().ok_or_else(|| Problem::not_found("there is no such user"))
}
