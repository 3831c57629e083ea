//! Bulk creation: many jobs in one request, a line each, and an answer for every line.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chronos_core::store;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::api::Api;
use super::body::check_type;
use super::document::WhyNot;
use super::strict;
use super::wire::spec::{NewJob, Recurs};
use super::{idempotency, lines};
use crate::auth::Caller;
use crate::problem::Problem;

/// Jobs of one request.
const MAX_LINES: usize = 10_000;
/// Bytes of one request.
pub(crate) const MAX_BODY: usize = 32 * 1024 * 1024;
/// Bytes of one line.
const MAX_LINE: usize = 256 * 1024;
/// How long the next part of a body may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Jobs that are stored at once, so that they share the wait for the disk.
const AT_ONCE: usize = 128;
const NDJSON: &str = "application/x-ndjson";

/// What became of a line.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LineAnswer {
    /// Which line it was, from 1.
    line: usize,
    /// 201 when the job was made, 200 when the same request had made it before, else why not.
    #[schema(example = 201)]
    status: u16,
    /// The job that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    id: Option<String>,
    /// Why none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// Creates up to 10,000 jobs, one-time or recurring, from lines of JSON: each the body of a POST to
/// /jobs, and an `idempotency_key` if need be. Answers with a line for every line, in order; a line
/// that is refused holds up no other. A request that breaks off has made what it was answered for.
#[utoipa::path(post, path = "/jobs/bulk", tag = "jobs",
    request_body(content = String, content_type = "application/x-ndjson",
        description = "A job on each line, of at most 256 KiB; 32 MiB in all",
        example = json!("{\"target\":{\"type\":\"http\",\"url\":\"https://example.com/a\"}}")),
    responses(
        (status = 200, description = "A line for each", body = LineAnswer, content_type = "application/x-ndjson"),
        WhyNot))]
pub(super) async fn create(
    State(api): State<Api>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    check_type(request.headers(), &[NDJSON, "application/ndjson"])?;
    let lines = numbered(request.into_body());
    // Each answer is a few hundred bytes, so that all of them are a few megabytes at most; they are not
    // sent before the end, because many clients read nothing before they have sent everything.
    let answers = lines
        .map_ok(|(line, bytes)| {
            let (api, caller) = (&api, &caller);
            async move { Ok(make(api, caller, line, &bytes).await) }
        })
        .try_buffered(AT_ONCE)
        .try_fold(String::new(), |mut answers, answer| async move {
            answers.push_str(&serde_json::to_string(&answer).unwrap_or_default());
            answers.push('\n');
            Ok(answers)
        });
    let answers = answers.await?;
    Ok(([(header::CONTENT_TYPE, NDJSON)], answers).into_response())
}

/// The lines of a body that say something, each with its number.
fn numbered(body: Body) -> impl Stream<Item = Result<(usize, Bytes), Problem>> {
    let lines = lines::Lines::new(body.into_data_stream(), MAX_LINE, MAX_BODY);
    let lines = stream::unfold(lines, |mut lines| async move {
        let next = match tokio::time::timeout(PATIENCE, lines.next()).await {
            Ok(next) => next?,
            Err(_) => Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                format!("the body did not go on for {} s", PATIENCE.as_secs()),
            )),
        };
        Some((next, lines))
    });
    let full = |line: &Bytes| !line.trim_ascii().is_empty();
    lines.enumerate().map(|(number, line)| line.map(|line| (number + 1, line))).try_filter_map(
        move |(number, line)| async move {
            if number > MAX_LINES && full(&line) {
                let detail = format!("there are more than {MAX_LINES} lines; use several requests");
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
            }
            Ok(full(&line).then_some((number, line)))
        },
    )
}

/// Makes the job of one line.
async fn make(api: &Api, caller: &Caller, line: usize, bytes: &[u8]) -> LineAnswer {
    match try_make(api, caller, bytes).await {
        Ok((id, again)) => {
            let status = if again { StatusCode::OK } else { StatusCode::CREATED };
            LineAnswer { line, status: status.as_u16(), id: Some(id), problem: None }
        }
        Err(problem) => {
            LineAnswer { line, status: problem.status().as_u16(), id: None, problem: Some(problem) }
        }
    }
}

async fn try_make(api: &Api, caller: &Caller, bytes: &[u8]) -> Result<(String, bool), Problem> {
    let mut fields: std::collections::BTreeMap<String, Box<RawValue>> = strict::read(bytes)?;
    let key = fields.remove("idempotency_key");
    let key = key.map(|key| strict::read::<Option<String>>(key.get().as_bytes())).transpose()?;
    let key = key.flatten().map(|key| idempotency::check(&key)).transpose();
    let key = key.map_err(|error| Problem::invalid(vec![error]))?;
    let request = key.map(|key| {
        store::Request::new(&caller.owner, &key, &[b"POST /jobs/bulk", bytes.trim_ascii()])
    });
    let rest = serde_json::to_vec(&fields).unwrap_or_default();
    let asked: NewJob = strict::read(&rest)?;
    let (now, id) = (api.now(), api.service.new_job_id());
    let spec =
        api.defaults().read_json(asked, Recurs::Either, (id, &caller.owner), (None, None), now);
    let spec = spec.map_err(Problem::invalid)?;
    if api.gate.phase() != crate::daemon::Phase::Ready {
        let detail = "the server shuts down; send this line again";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
    }
    let (id, again) = api.create(caller, spec, request, now).await?;
    Ok((id.to_string(), again))
}
