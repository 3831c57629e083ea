//! Pages: how many items one answer holds, and the cursor that leads to the next.

use chronos_core::{ExecutionId, JobId};
use prost::Message;

use super::refusal::Refusal;

const USUAL: usize = 100;
const MOST: usize = 1_000;

/// An answer stays below the 4 MiB that clients accept by default.
pub(crate) const MAX_BYTES: usize = 3 * 1024 * 1024;

/// How many items a page may hold.
pub(super) fn limit(asked: u32) -> Result<usize, Refusal> {
    match usize::try_from(asked) {
        Ok(0) => Ok(USUAL),
        Ok(limit) if limit <= MOST => Ok(limit),
        _ => {
            let problem =
                format!("{asked} is not accepted; use 1 to {MOST}, or 0 for the usual {USUAL}");
            Err(Refusal::of("limit", problem))
        }
    }
}

/// The first items that one answer holds, and whether any are left out.
pub(super) fn cut<T: Message>(items: impl IntoIterator<Item = T>, limit: usize) -> (Vec<T>, bool) {
    let mut page: Vec<T> = Vec::new();
    let mut bytes = 0;
    for item in items {
        bytes += item.encoded_len();
        // One item always fits, or a reader would never get past it.
        if page.len() >= limit || (bytes > MAX_BYTES && !page.is_empty()) {
            return (page, true);
        }
        page.push(item);
    }
    (page, false)
}

/// The place after a job in the list of all jobs.
pub(super) fn after_job(id: &str) -> String {
    format!("j{id}")
}

pub(super) fn read_after_job(cursor: &str) -> Result<Option<JobId>, Refusal> {
    if cursor.is_empty() {
        return Ok(None);
    }
    let id = cursor.strip_prefix('j').and_then(|id| id.parse().ok());
    id.map(Some).ok_or_else(|| not_a_cursor(cursor))
}

/// The place before an execution in the list of its job's executions.
pub(super) fn before_execution(job: JobId, id: &str) -> String {
    format!("e{job}{id}")
}

pub(super) fn read_before_execution(
    cursor: &str,
    job: JobId,
) -> Result<Option<ExecutionId>, Refusal> {
    if cursor.is_empty() {
        return Ok(None);
    }
    let of_job = format!("e{job}");
    let id = cursor.strip_prefix(&of_job).and_then(|id| id.parse().ok());
    id.map(Some).ok_or_else(|| not_a_cursor(cursor))
}

/// The place before a backfill in the list of its job's backfills.
pub(super) fn before_backfill(job: JobId, number: u64) -> String {
    format!("b{job}{number}")
}

pub(super) fn read_before_backfill(cursor: &str, job: JobId) -> Result<Option<u64>, Refusal> {
    if cursor.is_empty() {
        return Ok(None);
    }
    let of_job = format!("b{job}");
    let number = cursor.strip_prefix(&of_job).and_then(|number| number.parse().ok());
    number.map(Some).ok_or_else(|| not_a_cursor(cursor))
}

fn not_a_cursor(cursor: &str) -> Refusal {
    let given: String = cursor.chars().take(100).collect();
    let problem = format!(
        "\"{given}\" is no cursor of this list; use next_cursor of the page before, or nothing for \
         the first page"
    );
    Refusal::of("cursor", problem)
}
