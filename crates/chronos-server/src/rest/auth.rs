//! Getting in: signing up, logging in, going on, leaving, and who one is.

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api::{Api, json, made};
use super::body::{Body, Maybe};
use super::document::WhyNot;
use super::wire::account::{Credentials, Login, User};
use crate::auth::{Caller, Peer, Proof, Tokens};
use crate::problem::Problem;

/// Makes a user. The first one is an admin; later ones take an admin's token, unless the server lets
/// anyone sign up.
#[utoipa::path(post, path = "/auth/signup", tag = "auth", request_body = Credentials, security(()),
    responses(
        (status = 201, description = "The user", body = User, headers(("Location" = String))),
        (status = 403, description = "Sign-up is closed", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "The name is taken", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn signup(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body<Credentials>,
) -> Result<Response, Problem> {
    let Credentials { username, password } = body.value;
    let user = api.auth.sign_up(&headers, &username, password, peer).await?;
    Ok(made(json(&User::from(&user)), &format!("/users/{}", user.id), false))
}

/// Lets somebody in who knows a password.
#[utoipa::path(post, path = "/auth/login", tag = "auth", request_body = Credentials, security(()),
    responses(
        (status = 200, description = "What to get in with", body = Login),
        (status = 401, description = "The name or the password is wrong", body = Problem,
            content_type = "application/problem+json"),
        (status = 429, description = "There were too many attempts", body = Problem,
            content_type = "application/problem+json", headers(("Retry-After" = u64))),
        WhyNot))]
pub(super) async fn login(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    body: Body<Credentials>,
) -> Result<Response, Problem> {
    let Credentials { username, password } = body.value;
    Ok(handed_out(api.auth.log_in(&username, password, peer).await?))
}

/// A refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Refresh {
    refresh_token: String,
}

/// Goes on with a login. Each refresh token is good once; one that comes again ends the session.
#[utoipa::path(post, path = "/auth/refresh", tag = "auth", request_body = Refresh, security(()),
    responses(
        (status = 200, description = "What to get in with next", body = Login),
        (status = 401, description = "The session is over", body = Problem,
            content_type = "application/problem+json"),
        WhyNot))]
pub(super) async fn refresh(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    body: Body<Refresh>,
) -> Result<Response, Problem> {
    Ok(handed_out(api.auth.refresh(&body.value.refresh_token, peer).await?))
}

/// What ends.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Logout {
    /// Every session of the user, and not this one alone.
    all: Option<bool>,
}

/// Ends the session whose token is sent, or all of its user. API keys stay.
#[utoipa::path(post, path = "/auth/logout", tag = "auth", request_body = Option<Logout>,
    responses(
        (status = 204, description = "The session is over"),
        WhyNot))]
pub(super) async fn logout(
    State(api): State<Api>,
    caller: Caller,
    body: Maybe<Logout>,
) -> Result<Response, Problem> {
    let Proof::Login { user, session } = caller.proof else {
        let detail =
            "this is no login: an API key is revoked, and the local token ends with the daemon";
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    };
    let (accounts, now) = (api.auth.accounts(), api.auth.now());
    if body.value.all == Some(true) {
        accounts.end_sessions(user, now).await?;
    } else {
        accounts.end_session(user, session, now).await?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A password in place of another.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPassword {
    #[schema(format = Password, min_length = 1, max_length = 1024)]
    current_password: String,
    #[schema(format = Password, min_length = 8, max_length = 1024)]
    new_password: String,
}

/// Changes one's password. Every session of the user ends, and a new one begins.
#[utoipa::path(post, path = "/auth/password", tag = "auth", request_body = NewPassword,
    responses(
        (status = 200, description = "What to get in with from now on", body = Login),
        WhyNot))]
pub(super) async fn password(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    body: Body<NewPassword>,
) -> Result<Response, Problem> {
    let NewPassword { current_password, new_password } = body.value;
    let user = caller.id().ok_or_else(|| Problem::not_found("there is no such user"))?;
    let by = caller.act(peer);
    let tokens = api.auth.change_password(user, current_password, new_password, by).await?;
    Ok(handed_out(tokens))
}

/// Whoever asks.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Me {
    /// How it is known: by `login`, by `key`, or because it is `local` to the daemon's machine.
    #[schema(example = "login")]
    known_by: &'static str,
    /// What it may do.
    #[schema(example = "user")]
    role: &'static str,
    /// What of that it is good for.
    #[schema(example = json!(["read", "write", "admin"]))]
    scopes: Vec<&'static str>,
    /// The user; null on the daemon's machine, where none is needed.
    user: Option<User>,
}

/// Tells whoever asks who it is.
#[utoipa::path(get, path = "/auth/me", tag = "auth",
    responses(
        (status = 200, description = "Whoever asks", body = Me),
        WhyNot))]
pub(super) async fn me(State(api): State<Api>, caller: Caller) -> Result<Response, Problem> {
    let user = match caller.id() {
        None => None,
        Some(id) => Some(User::from(&api.auth.accounts().user(id).await?)),
    };
    let known_by = match caller.proof {
        Proof::Local => "local",
        Proof::Login { .. } => "login",
        Proof::Key { .. } => "key",
    };
    let (role, scopes) = (caller.role.as_str(), caller.scopes.names());
    Ok(json(&Me { known_by, role, scopes, user }))
}

/// The answer that hands tokens out, which nobody on the way may keep.
fn handed_out(tokens: Tokens) -> Response {
    never_kept(json(&Login::from(tokens)))
}

/// The answer, for nobody on the way to keep.
pub(super) fn never_kept(mut response: Response) -> Response {
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, never);
    response
}
