//! The guard before every route: finds out who asks, and lets in whom the table lets in.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::access::{self, Access};
use super::{Auth, Caller};
use crate::daemon::refuse_with;
use crate::problem::Problem;

/// Lets a request in if its sender may ask for it. A layer of routes, so that it knows which it is.
pub(crate) async fn authorise(
    State(auth): State<Arc<Auth>>,
    request: Request,
    next: Next,
) -> Response {
    let access = access::of(&asked(&request));
    if access == Access::Open {
        return next.run(request).await;
    }
    let (mut head, body) = request.into_parts();
    match admit(&auth, &head.headers, access).await {
        Ok(caller) => head.extensions.insert(caller),
        Err(problem) => return refuse_with(&head.headers, problem),
    };
    next.run(Request::from_parts(head, body)).await
}

async fn admit(auth: &Auth, headers: &HeaderMap, access: Access) -> Result<Caller, Problem> {
    let caller = auth.identify(headers).await?;
    auth.spend(&caller)?;
    match access::refusal(&caller, access) {
        None => Ok(caller),
        Some(refusal) => Err(Problem::new(StatusCode::FORBIDDEN, refusal)),
    }
}

/// What is asked for, by its name in the table.
fn asked(request: &Request) -> String {
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    // One route takes all methods of a gRPC service.
    if path.contains("{*") {
        return request.uri().path().into();
    }
    // Whoever may be told something may ask for its head.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    format!("{method} {path}")
}
