//! The dashboard: its files, which are part of the binary, served at `/ui/`.
//!
//! It knows nothing that the REST API does not tell it, so its pages are for anyone; what they show is not.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use crate::problem::Problem;

/// Scripts and styles come from files of the dashboard alone, and its pages talk to nobody else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";
/// What is named after its content never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const PAGE: &str = "index.html";

/// What a binary serves that was built without the dashboard.
const NONE_BUILT: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Chronos</title>
<h1>Chronos is running, without its dashboard</h1>
<p>This binary was built without it. To have it, install <a href="https://nodejs.org">Node.js</a> 20.19 or newer
and build again from a clone: <code>make run</code> or <code>make install</code>.
<p>Everything else is here: <a href="/docs">the REST API</a>, and the command <code>chronos</code>.
"#;

/// A file of the built dashboard; one that ends in `.gz` is another one, packed.
#[derive(Clone, Copy, Debug)]
struct File {
    path: &'static str,
    bytes: &'static [u8],
}

/// The built dashboard; empty where none was built.
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/dashboard.rs"));

/// The routes of the dashboard, and the way to it.
pub(crate) fn router() -> Router {
    let to_it = || async { Redirect::temporary("/ui/") };
    let page = |headers: HeaderMap| async move { answer(FILES, "", &headers) };
    let file = |Path(path): Path<String>, headers: HeaderMap| async move {
        answer(FILES, &path, &headers)
    };
    Router::new()
        .route("/", get(to_it))
        .route("/ui", get(to_it))
        .route("/ui/", get(page))
        .route("/ui/{*path}", get(file))
}

fn answer(files: &[File], path: &str, headers: &HeaderMap) -> Response {
    let mut response = found(files, path, headers);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn found(files: &[File], path: &str, headers: &HeaderMap) -> Response {
    let named = |path: &str| files.iter().find(|file| file.path == path);
    // The dashboard finds its pages by itself; only files have dots in their names.
    let is_page = !path.rsplit('/').next().unwrap_or_default().contains('.');
    let file = if is_page { named(PAGE) } else { named(path) };
    let Some(file) = file else {
        if is_page {
            return told("text/html; charset=utf-8", "no-cache", NONE_BUILT.as_bytes());
        }
        let detail = "the dashboard has no such file; it may have been updated, so load it again";
        return Problem::new(StatusCode::NOT_FOUND, detail).into_response();
    };
    let caching = if file.path.starts_with("assets/") { FOR_EVER } else { "no-cache" };
    let kind = kind(file.path);
    let packed = named(&format!("{}.gz", file.path)).filter(|_| takes_gzip(headers));
    let mut response = told(kind, caching, packed.unwrap_or(file).bytes);
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if packed.is_some() {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    }
    response
}

fn told(kind: &'static str, caching: &'static str, bytes: &'static [u8]) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, caching)], bytes).into_response()
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let mut given = given.unwrap_or_default().split(',').map(str::trim);
    given.any(|coding| coding == "gzip" || coding.starts_with("gzip;") && !coding.contains("q=0"))
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: &[File] = &[
        File { path: "assets/app-1a2b.js", bytes: b"app" },
        File { path: "assets/app-1a2b.js.gz", bytes: b"packed" },
        File { path: "index.html", bytes: b"page" },
    ];

    async fn asked(files: &[File], path: &str, encodings: &str) -> (StatusCode, HeaderMap, String) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, encodings.parse().unwrap());
        let (head, body) = answer(files, path, &headers).into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn every_page_is_the_one_page_that_is_asked_for_anew() {
        for path in ["", "jobs", "jobs/0189/edit"] {
            let (status, headers, body) = asked(BUILT, path, "gzip").await;
            assert_eq!((status, body.as_str()), (StatusCode::OK, "page"), "{path}");
            assert_eq!(headers[header::CACHE_CONTROL], "no-cache", "{path}");
        }
    }

    #[tokio::test]
    async fn a_file_is_kept_for_ever_and_comes_packed_to_whoever_takes_that() {
        let path = "assets/app-1a2b.js";
        for (encodings, expected) in [("br, gzip", "packed"), ("gzip;q=0", "app"), ("br", "app")] {
            let (_, headers, body) = asked(BUILT, path, encodings).await;
            assert_eq!(body, expected, "{encodings}");
            assert_eq!(headers[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
            assert_eq!(headers[header::CACHE_CONTROL], FOR_EVER);
            assert_eq!(headers.contains_key(header::CONTENT_ENCODING), expected == "packed");
        }
    }

    #[tokio::test]
    async fn a_file_of_another_version_is_no_page() {
        let (status, _, _) = asked(BUILT, "assets/app-0000.js", "").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn without_a_dashboard_a_page_says_how_to_get_it() {
        let (status, headers, body) = asked(&[], "jobs", "").await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(headers[header::CONTENT_TYPE], "text/html; charset=utf-8");
        assert!(body.contains("Node.js") && body.contains("make run"), "{body}");
    }

    #[tokio::test]
    async fn nothing_is_served_without_its_policy() {
        for path in ["", "assets/app-1a2b.js", "assets/none.js"] {
            let (_, headers, _) = asked(BUILT, path, "").await;
            let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
            assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
    }
}
