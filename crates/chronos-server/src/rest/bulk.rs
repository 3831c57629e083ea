//! Bulk creation: many jobs in one request, a line each, and an answer for every line.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chronos_core::{JobId, Timestamp, store};
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
use crate::quotas::Asked;

/// Jobs of one request.
const MAX_LINES: usize = 10_000;
/// Bytes of one request.
pub(crate) const MAX_BODY: usize = 32 * 1024 * 1024;
/// Bytes of one line.
const MAX_LINE: usize = 256 * 1024;
/// How long the next part of a body may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Jobs that are stored at once, so that they share the wait for the disk, and how many times as many are
/// under way: while some are stored, others are read.
const AT_ONCE: usize = 250;
const CHUNKS: usize = 2;
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
        .try_chunks(AT_ONCE)
        .map_err(|broken| broken.1)
        .map_ok(|lines| make_all(&api, &caller, lines))
        .try_buffered(CHUNKS)
        .try_fold(String::new(), |mut told, answers| async move {
            for answer in answers {
                told.push_str(&serde_json::to_string(&answer).unwrap_or_default());
                told.push('\n');
            }
            Ok(told)
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

/// Makes the jobs of some lines.
async fn make_all(
    api: &Api,
    caller: &Caller,
    lines: Vec<(usize, Bytes)>,
) -> Result<Vec<LineAnswer>, Problem> {
    let now = api.now();
    let (mut answers, mut asked) = (Vec::with_capacity(lines.len()), Vec::new());
    for (line, bytes) in lines {
        answers.push((line, read(api, caller, &bytes, now).map(|job| asked.push(job))));
    }
    if api.gate.phase() != crate::daemon::Phase::Ready {
        let detail = "the server shuts down; send this line again";
        let late = || Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
        return Ok(answers.into_iter().map(|(line, _)| LineAnswer::new(line, late())).collect());
    }
    // What one failure of the store keeps from being made, it keeps from being made for each.
    let made = api.create_all(caller, asked, now).await;
    let mut made = match made {
        Ok(made) => made.into_iter(),
        Err(problem) => {
            let failed = |read: Result<(), Problem>| read.and(Err(problem.clone()));
            let answers = answers.into_iter();
            return Ok(answers.map(|(line, read)| LineAnswer::new(line, failed(read))).collect());
        }
    };
    let lost = || Err(store::Error::Unavailable("the store did not answer".into()).into());
    let answer = |(line, read): (usize, Result<(), Problem>)| {
        LineAnswer::new(line, read.and_then(|()| made.next().unwrap_or_else(lost)))
    };
    Ok(answers.into_iter().map(answer).collect())
}

impl LineAnswer {
    fn new(line: usize, made: Result<(JobId, bool), Problem>) -> Self {
        match made {
            Ok((id, again)) => {
                let status = if again { StatusCode::OK } else { StatusCode::CREATED };
                Self { line, status: status.as_u16(), id: Some(id.to_string()), problem: None }
            }
            Err(problem) => {
                Self { line, status: problem.status().as_u16(), id: None, problem: Some(problem) }
            }
        }
    }
}

/// The job that a line asks for.
fn read(api: &Api, caller: &Caller, bytes: &[u8], now: Timestamp) -> Result<Asked, Problem> {
    let mut fields: std::collections::BTreeMap<String, Box<RawValue>> = strict::read(bytes)?;
    let key = fields.remove("idempotency_key");
    let key = key.map(|key| strict::fit::<Option<String>>(key.get().as_bytes())).transpose()?;
    let key = key.flatten().map(|key| idempotency::check(&key)).transpose();
    let key = key.map_err(|error| Problem::invalid(vec![error]))?;
    let request = key.map(|key| {
        store::Request::new(&caller.owner, &key, &[b"POST /jobs/bulk", bytes.trim_ascii()])
    });
    let rest = serde_json::to_vec(&fields).unwrap_or_default();
    let asked: NewJob = strict::fit(&rest)?;
    let id = api.service.new_job_id();
    let spec =
        api.defaults().read_json(asked, Recurs::Either, (id, &caller.owner), (None, None), now);
    Ok((spec.map_err(Problem::invalid)?, request))
}
