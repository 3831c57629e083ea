//! Guards before every request: who may ask, how much, and for how long.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tonic::{Code, Status};

use super::gate::Gate;
use crate::problem::Problem;
use crate::rest::{BULK, MAX_BULK_BODY};

/// What the guards go by.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) gate: Arc<Gate>,
    pub(super) request_timeout: Duration,
}

/// Refuses requests that a web page could have sent in its visitor's name: of another site's name
/// (its DNS may point here), or from another site's page. Where others may connect, every request says
/// who it is from, so that names do not matter; pages of other sites are refused all the same.
pub(super) async fn only_this_machine(
    State(listens_to_others): State<bool>,
    request: Request,
    next: Next,
) -> Response {
    let authority = request.uri().authority().map(Authority::as_str);
    let authority = authority.or_else(|| request.headers().get(header::HOST)?.to_str().ok());
    if !listens_to_others && !authority.is_some_and(|it| is_this_machine(without_port(it))) {
        let problem = "the host is not a name or an address of this machine; use localhost, \
                       127.0.0.1 or [::1]";
        return refuse(request.headers(), StatusCode::MISDIRECTED_REQUEST, problem);
    }
    let is_ours = |origin: &str| {
        let own = listens_to_others && authority.is_some() && host_of(origin) == authority;
        own || (!listens_to_others && is_from_this_machine(origin))
    };
    let origin = request.headers().get(header::ORIGIN);
    if origin.is_some_and(|origin| !origin.to_str().is_ok_and(is_ours)) {
        let problem = "requests from pages of other sites are not accepted";
        return refuse(request.headers(), StatusCode::FORBIDDEN, problem);
    }
    next.run(request).await
}

/// Refuses a body that says it is too large, before any of it is read.
pub(super) async fn not_too_large(
    State(most): State<u64>,
    request: Request,
    next: Next,
) -> Response {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    // A gRPC message says its own size, and is refused by that.
    let most = if request.uri().path() == BULK { most.max(MAX_BULK_BODY as u64) } else { most };
    if !is_grpc(request.headers()) && length.is_some_and(|length| length > most) {
        let problem = format!("the body is larger than {most} bytes");
        return refuse(request.headers(), StatusCode::PAYLOAD_TOO_LARGE, &problem);
    }
    next.run(request).await
}

/// Lets requests in while the gate is open, each for a time.
pub(super) async fn while_open(
    State(guard): State<Guard>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let Some(_inside) = guard.gate.enter() else {
        let problem = "the server is not ready or shuts down; try again";
        return refuse(&headers, StatusCode::SERVICE_UNAVAILABLE, problem);
    };
    // Only the answer's beginning is awaited here, so that streams may last.
    let answer = tokio::time::timeout(guard.request_timeout, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let problem = format!("no answer within {} s", guard.request_timeout.as_secs_f64());
        refuse(&headers, StatusCode::GATEWAY_TIMEOUT, &problem)
    })
}

/// Refuses what is not gRPC where only gRPC is spoken: pages may send other content unasked.
pub(super) async fn only_grpc(request: Request, next: Next) -> Response {
    if !is_grpc(request.headers()) {
        let problem = "this path speaks gRPC; use content-type application/grpc";
        return refuse(request.headers(), StatusCode::UNSUPPORTED_MEDIA_TYPE, problem);
    }
    let mut response = next.run(request).await;
    // The gRPC library calls an oversized message OUT_OF_RANGE, everyone else RESOURCE_EXHAUSTED.
    let status = response.headers_mut().get_mut("grpc-status");
    if let Some(status) = status.filter(|status| **status == code(Code::OutOfRange)) {
        *status = code(Code::ResourceExhausted);
    }
    response
}

fn code(code: Code) -> HeaderValue {
    HeaderValue::from(i32::from(code))
}

pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

/// The refusal in the language of whoever asked.
pub(super) fn refuse(headers: &HeaderMap, status: StatusCode, problem: &str) -> Response {
    refuse_with(headers, Problem::new(status, problem))
}

/// The problem in the language of whoever asked.
pub(crate) fn refuse_with(headers: &HeaderMap, problem: Problem) -> Response {
    if !is_grpc(headers) {
        return problem.into_response();
    }
    let code = match problem.status() {
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        StatusCode::NOT_FOUND => Code::Unimplemented,
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        StatusCode::GATEWAY_TIMEOUT => Code::DeadlineExceeded,
        StatusCode::INTERNAL_SERVER_ERROR => Code::Internal,
        _ => Code::PermissionDenied,
    };
    let mut response = Status::new(code, problem.detail()).into_http::<axum::body::Body>();
    if problem.status() == StatusCode::MISDIRECTED_REQUEST {
        *response.status_mut() = problem.status();
    }
    response
}

fn is_this_machine(host: &str) -> bool {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = name.parse::<IpAddr>() {
        return address.to_canonical().is_loopback();
    }
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

fn is_from_this_machine(origin: &str) -> bool {
    host_of(origin).is_some_and(|host| is_this_machine(without_port(host)))
}

/// The host and port of a page's origin.
fn host_of(origin: &str) -> Option<&str> {
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

/// The host of `host:port`; colons within brackets belong to the address.
fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_of_this_machine_are_taken_for_it() {
        for (host, ours) in [
            ("localhost", true),
            ("LocalHost.", true),
            ("chronos.localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("127.9.9.9", true),
            ("[::1]", true),
            ("[::1]:8080", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("localhost.example.org", false),
            ("127.0.0.1.example.org", false),
            ("notlocalhost", false),
            ("192.168.1.7:8080", false),
            ("0.0.0.0", false),
            ("[::]:8080", false),
            ("", false),
            (":8080", false),
        ] {
            assert_eq!(is_this_machine(without_port(host)), ours, "{host}");
        }
    }

    #[test]
    fn only_pages_of_this_machine_may_ask() {
        for (origin, ours) in [
            ("http://localhost:8080", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:8080", true),
            ("http://localhost.example.org", false),
            ("null", false),
            ("file://", false),
        ] {
            assert_eq!(is_from_this_machine(origin), ours, "{origin}");
        }
    }
}
