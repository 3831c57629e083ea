//! Jobs in the order of their next runs, found in spans of time that hold few of them each.

use std::time::Duration;

use chronos_core::store::{JobFilter, Store};
use chronos_core::{Job, JobId, Timestamp};

use super::cursor;
use crate::problem::Problem;

/// Jobs that one look gathers; a span that holds more is too long.
const MOST: usize = 1_000;
/// Looks that one page takes.
const LOOKS: usize = 64;
/// The shortest span: an instant.
const INSTANT: Duration = Duration::from_micros(1);
/// How much shorter and longer spans become.
const STEP: u32 = 16;
const HOUR: Duration = Duration::from_hours(1);

/// A place in the order: at this time, after this job of those of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    at: Timestamp,
    after: Option<JobId>,
}

impl Place {
    /// The place of a job.
    pub(super) fn of(job: &Job) -> Self {
        let at = job.standing.next_slot.unwrap_or(Timestamp::MAX);
        Self { at, after: Some(job.spec.id) }
    }

    /// The cursor that leads on from here.
    pub(super) fn write(&self, filter: &JobFilter) -> String {
        let time = u128::from(self.at.as_micros().cast_unsigned()).to_be_bytes();
        let after = self.after.unwrap_or_else(|| JobId::from_bytes([0; 16]));
        let (time, job) = (
            cursor::write(&("next run", filter), &time),
            cursor::write(&("next run of", filter), after.as_bytes()),
        );
        format!("{time}.{job}")
    }

    /// The place that a cursor leads on from.
    pub(super) fn read(filter: &JobFilter, cursor: Option<&str>) -> Result<Option<Self>, Problem> {
        let Some(cursor) = cursor else { return Ok(None) };
        let (time, job) = cursor.split_once('.').unwrap_or((cursor, ""));
        let time = cursor::read(&("next run", filter), Some(time))?;
        let job = cursor::read(&("next run of", filter), Some(job))?;
        let place = time.zip(job).map(|(time, job)| {
            let micros = u64::try_from(u128::from_be_bytes(time)).unwrap_or(0).cast_signed();
            Self { at: Timestamp::from_micros(micros), after: Some(JobId::from_bytes(job)) }
        });
        Ok(place)
    }
}

/// Up to `limit` jobs that a filter asks for and that have a next run, the soonest first; and where to go on, if
/// there may be more.
pub(super) async fn find(
    store: &dyn Store,
    filter: &JobFilter,
    from: Option<Place>,
    limit: usize,
    now: Timestamp,
) -> Result<(Vec<Job>, Option<Place>), Problem> {
    let end = filter.next_before.unwrap_or(Timestamp::MAX);
    let begin = filter.next_from.unwrap_or(Timestamp::MIN);
    let mut place = from.unwrap_or(Place { at: begin, after: None });
    let mut span = if place.after.is_some() { INSTANT } else { first_span(place.at, now) };
    let mut jobs: Vec<Job> = Vec::new();
    for _ in 0..LOOKS {
        if place.at >= end {
            return Ok((jobs, None));
        }
        let until = place.at.after(span).min(end);
        let asked =
            JobFilter { next_from: Some(place.at), next_before: Some(until), ..filter.clone() };
        let found = store.find_jobs(&asked, place.after, MOST).await?;
        if found.next.is_some() && span > INSTANT {
            span = (span / STEP).max(INSTANT);
            continue;
        }
        let mut gathered = found.jobs;
        // Those of one instant come in the order of their ids already.
        gathered.sort_by_key(|job| (job.standing.next_slot, job.spec.id));
        let none = gathered.is_empty();
        jobs.extend(gathered);
        if jobs.len() >= limit {
            jobs.truncate(limit);
            let last = jobs.last().map(Place::of);
            return Ok((jobs, last));
        }
        if found.next.is_some() {
            place.after = found.next;
            continue;
        }
        let was_instant = span == INSTANT;
        place = Place { at: until, after: None };
        span = if was_instant {
            first_span(place.at, now)
        } else if none {
            span.saturating_mul(STEP)
        } else {
            span
        };
    }
    Ok((jobs, Some(place)))
}

/// What is past is looked at in one go, if that is few; what is to come by the hour.
fn first_span(at: Timestamp, now: Timestamp) -> Duration {
    now.since(at).max(HOUR)
}
