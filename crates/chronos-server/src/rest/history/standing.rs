//! How the history itself is, and having it made again.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::history::Standing;
use crate::problem::Problem;
use crate::rest::api::{Api, json};
use crate::rest::document::WhyNot;

/// How the history is.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct HistoryStanding {
    /// `absent` where this node keeps none, `opening`, `catching_up`, `following`, or `refused` where it cannot be
    /// used as it is.
    #[schema(example = "following")]
    status: &'static str,
    /// What is wrong, if something is.
    problem: Option<String>,
    /// The place in the journal up to which it was read.
    read: u64,
    /// The place of the newest entry of the journal.
    newest: u64,
    /// Whether something that is old enough is not told of yet.
    to_roll_up: bool,
    /// Bytes on disk.
    bytes: u64,
}

impl From<Standing> for HistoryStanding {
    fn from(standing: Standing) -> Self {
        let Standing { phase, problem, read, newest, to_roll_up, bytes } = standing;
        Self { status: phase.as_str(), problem, read, newest, to_roll_up, bytes }
    }
}

/// Tells how the history of this node is: whether it is kept, and how far the journal was read into it.
#[utoipa::path(get, path = "/history", tag = "history",
    responses((status = 200, description = "How it is", body = HistoryStanding), WhyNot))]
pub(in crate::rest) async fn get(State(api): State<Api>, _: Caller) -> Result<Response, Problem> {
    Ok(json(&HistoryStanding::from(api.history.standing().await?)))
}

/// Has the history of this node made again from the store, whatever state it is in. What the store no longer keeps
/// is not told of any more.
#[utoipa::path(post, path = "/history/rebuild", tag = "history",
    responses((status = 202, description = "It is being made again", body = HistoryStanding), WhyNot))]
pub(in crate::rest) async fn rebuild(
    State(api): State<Api>,
    _: Caller,
) -> Result<Response, Problem> {
    api.history.rebuild().map_err(|why| Problem::new(StatusCode::CONFLICT, why))?;
    let standing = HistoryStanding::from(api.history.standing().await?);
    Ok((StatusCode::ACCEPTED, json(&standing)).into_response())
}
