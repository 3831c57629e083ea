//! Pages: lists are told a part at a time, and no part grows without bound.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::{IntoParams, ToSchema};

use super::wire;
use crate::problem::Problem;

/// A page ends where it would grow past this.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Which part of a list is asked for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it only tells the document what every list takes")]
pub(super) struct Paged {
    /// 100 if left out
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

/// Some items of a list.
#[derive(Debug, Serialize)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// Leads to the next page; null on the last. A page may hold fewer items than asked for, or none,
    /// and still lead on.
    pub(super) next_cursor: Option<String>,
}

/// Jobs, in the order of their ids.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(super) struct JobPage {
    items: Vec<wire::job::Job>,
    next_cursor: Option<String>,
}

/// Executions, newest first.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only tells the document what a page looks like")]
pub(super) struct ExecutionPage {
    items: Vec<wire::execution::Execution>,
    next_cursor: Option<String>,
}

/// What one answer holds of some items: at most `limit`, and no more than fit. Each comes with what
/// `cursor` leads on from; `rest` leads on from the last, if there may be more.
pub(super) fn answer<I, T: Serialize>(
    items: impl IntoIterator<Item = (I, T)>,
    limit: usize,
    cursor: impl Fn(&I) -> String,
    rest: Option<String>,
) -> Result<Response, Problem> {
    let mut page: Page<Box<RawValue>> = Page { items: Vec::new(), next_cursor: rest };
    let (mut bytes, mut last) = (0, None);
    for (item, told) in items {
        let text = to_raw_value(&told).map_err(|error| {
            Problem::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        })?;
        bytes += text.get().len();
        // One item always fits, or a reader would never get past it.
        if page.items.len() >= limit || (bytes > MAX_BYTES && !page.items.is_empty()) {
            page.next_cursor = last;
            break;
        }
        page.items.push(text);
        last = Some(cursor(&item));
    }
    Ok(Json(page).into_response())
}
