//! Calls of the REST API, on the connection that gRPC goes over.

use axum::body::{Body, to_bytes};
use axum::http::request::Builder;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::Value;
use tonic::transport::Channel;
use tower::ServiceExt;

use super::identity::Bearer;
use super::pages::{Listed, Paging};
use super::{ADVICE, unreachable};
use crate::cli::Error;

/// Bytes of an answer.
const LARGEST: usize = 16 << 20;

/// A daemon, by its REST API.
#[derive(Clone)]
pub(super) struct Rest {
    pub(super) address: String,
    pub(super) channel: Channel,
    pub(super) bearer: Bearer,
}

impl Rest {
    pub(super) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.call(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Changes what is at this version.
    pub(super) async fn patch(
        &self,
        path: &str,
        body: &Value,
        version: u64,
    ) -> Result<Value, Error> {
        let request = Request::builder().header(header::IF_MATCH, format!("\"{version}\""));
        self.send(request.method(Method::PATCH).uri(path), Some(body)).await
    }

    /// The pages of a list, narrowed by parameters.
    pub(super) async fn pages(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
        paging: &Paging,
    ) -> Result<Listed<Value>, Error> {
        let fetch = async |limit: u32, cursor: String| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair("limit", &limit.to_string()).extend_pairs(parameters);
            if !cursor.is_empty() {
                query.append_pair("cursor", &cursor);
            }
            let mut page = self.get(&format!("{path}?{}", query.finish())).await?;
            let next = page["next_cursor"].as_str().unwrap_or_default().to_owned();
            match page["items"].take() {
                Value::Array(items) => Ok((items, next)),
                _ => Err(Error::Daemon("the daemon answers no list".into())),
            }
        };
        paging.collect(fetch).await
    }

    /// The answer to a request; null if it is empty.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        self.send(Request::builder().method(method).uri(path), body).await
    }

    async fn send(&self, mut request: Builder, body: Option<&Value>) -> Result<Value, Error> {
        if let Some(token) = &self.bearer.0 {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map(ToString::to_string).unwrap_or_default();
        let request = request.body(tonic::body::Body::new(Body::from(body)));
        let request = request.map_err(|error| Error::Daemon(error.to_string()))?;
        let answer = self.channel.clone().oneshot(request).await;
        let answer = answer.map_err(|error| unreachable(&self.address, &error))?;
        let status = answer.status();
        let body = to_bytes(Body::new(answer.into_body()), LARGEST).await;
        let body = body.map_err(|error| unreachable(&self.address, &error))?;
        let told: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() { Ok(told) } else { Err(refusal(status, &told)) }
    }
}

/// What a refusal means to whoever typed the command.
fn refusal(status: StatusCode, told: &Value) -> Error {
    let accepted = told["errors"][0]["accepted"].as_str();
    let detail = told["detail"].as_str().map_or_else(|| status.to_string(), ToOwned::to_owned);
    let said = match accepted {
        Some(accepted) => format!("{detail}; use {accepted}"),
        None => detail,
    };
    match status {
        StatusCode::UNAUTHORIZED if said.contains("it is not known who asks") => {
            Error::Denied(format!("{said}; {ADVICE}"))
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Error::Denied(said),
        StatusCode::NOT_FOUND => Error::NotFound(said),
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED | StatusCode::TOO_MANY_REQUESTS => {
            Error::Refused(said)
        }
        status if status.is_client_error() => Error::Rejected(said),
        _ => Error::Daemon(format!("the daemon failed: {said}")),
    }
}
