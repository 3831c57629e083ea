//! Bodies: read within their limits, as JSON and nothing else.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

use super::strict;
use crate::problem::Problem;

/// Bytes of a body, unless a route says otherwise.
pub(super) const MAX_BODY: usize = 1024 * 1024;

/// A body of JSON, with the bytes that said it.
pub(super) struct Body<T> {
    pub(super) value: T,
    pub(super) bytes: Bytes,
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_type(request.headers(), &["application/json", "application/merge-patch+json"])?;
        let bytes = read(request).await?;
        Ok(Self { value: strict::read(&bytes)?, bytes })
    }
}

/// A body of JSON that may be left out.
pub(super) struct Maybe<T> {
    pub(super) value: T,
    pub(super) bytes: Bytes,
}

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for Maybe<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let headers = request.headers().clone();
        let bytes = read(request).await?;
        if bytes.is_empty() {
            return Ok(Self { value: T::default(), bytes });
        }
        check_type(&headers, &["application/json"])?;
        Ok(Self { value: strict::read(&bytes)?, bytes })
    }
}

/// Refuses a body that is not of one of these types, or that is packed.
pub(super) fn check_type(headers: &HeaderMap, accepted: &[&str]) -> Result<(), Problem> {
    let unsupported = |detail: String| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail);
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !accepted.contains(&essence.as_str()) {
        let shown: String = kind.chars().take(100).collect();
        return Err(unsupported(format!(
            "content-type {shown:?} is not accepted; use {}",
            accepted.join(" or ")
        )));
    }
    match text(header::CONTENT_ENCODING) {
        None | Some("identity") => Ok(()),
        Some(_) => {
            Err(unsupported("no content-encoding is accepted; send the body as it is".into()))
        }
    }
}

/// Every byte of the body; refused at the first too many.
async fn read(request: Request) -> Result<Bytes, Problem> {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > MAX_BODY) {
        return Err(too_large());
    }
    axum::body::to_bytes(request.into_body(), MAX_BODY).await.map_err(|error| {
        let is_long = std::error::Error::source(&error)
            .is_some_and(|source| source.to_string().contains("length limit"));
        if is_long {
            return too_large();
        }
        Problem::new(StatusCode::BAD_REQUEST, "the body breaks off before its end")
    })
}

fn too_large() -> Problem {
    let detail = format!("the body is larger than {MAX_BODY} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}
