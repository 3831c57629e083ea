//! Users: listed, made, changed and removed by admins.

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chronos_core::UserId;
use chronos_core::account::Admit;
use tracing::info;
use utoipa::ToSchema;

use super::api::{Api, json, made};
use super::body::Body;
use super::cursor;
use super::document::WhyNot;
use super::page::{self, Paged};
use super::query::{Id, Query};
use super::wire::account::{NewUser, User, UserPatch};
use crate::auth::{Caller, Peer};
use crate::problem::Problem;

/// Users, in the order in which they were made.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(super) struct UserPage {
    items: Vec<User>,
    next_cursor: Option<String>,
}

/// Lists users in the order in which they were made.
#[utoipa::path(get, path = "/users", tag = "users",
    params(Paged),
    responses(
        (status = 200, description = "Some of the users", body = UserPage),
        WhyNot))]
pub(super) async fn list(State(api): State<Api>, query: Query) -> Result<Response, Problem> {
    let (limit, asked) = query.page_alone()?;
    let after = cursor::read(&"users", asked.as_deref())?.map(UserId::from_bytes);
    let users = api.auth.accounts().users(after, limit + 1).await?;
    let items = users.iter().map(|user| (user.id, User::from(user)));
    page::answer(items, limit, |last| cursor::write(&"users", last.as_bytes()), None)
}

/// Makes a user of any role.
#[utoipa::path(post, path = "/users", tag = "users", request_body = NewUser,
    responses(
        (status = 201, description = "The user", body = User, headers(("Location" = String))),
        (status = 409, description = "The name is taken", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn create(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    body: Body<NewUser>,
) -> Result<Response, Problem> {
    let role = body.value.role().map_err(|error| Problem::invalid(vec![error]))?;
    let NewUser { username, password, .. } = body.value;
    let user =
        api.auth.create_user(&username, password, role, (Admit::Anytime, caller.act(peer))).await?;
    info!(user = %user.id, role = user.role.as_str(), "User made");
    Ok(made(json(&User::from(&user)), &format!("/users/{}", user.id), false))
}

/// Tells a user.
#[utoipa::path(get, path = "/users/{id}", tag = "users",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The user", body = User),
        WhyNot))]
pub(super) async fn get(State(api): State<Api>, Id(id): Id<UserId>) -> Result<Response, Problem> {
    Ok(json(&User::from(&api.auth.accounts().user(id).await?)))
}

/// Changes a user's role, shuts the user out or in, or sets a new password. The last two end the
/// user's sessions; the last admin stays one.
#[utoipa::path(patch, path = "/users/{id}", tag = "users", request_body = UserPatch,
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The user", body = User),
        (status = 409, description = "It is the last admin", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn change(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    Id(id): Id<UserId>,
    body: Body<UserPatch>,
) -> Result<Response, Problem> {
    let role = body.value.role().map_err(|error| Problem::invalid(vec![error]))?;
    let UserPatch { disabled, password, .. } = body.value;
    let user = api.auth.change_user(id, (role, disabled), password, caller.act(peer)).await?;
    Ok(json(&User::from(&user)))
}

/// Removes a user with all sessions and keys. The user's jobs stay and run on, for admins to see to.
#[utoipa::path(delete, path = "/users/{id}", tag = "users",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 204, description = "The user is no longer there"),
        (status = 409, description = "It is the last admin", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn delete(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    Id(id): Id<UserId>,
) -> Result<Response, Problem> {
    api.auth.accounts().delete_user(id, caller.act(peer).at(api.auth.now())).await?;
    info!(user = %id, "User removed");
    Ok(StatusCode::NO_CONTENT.into_response())
}
