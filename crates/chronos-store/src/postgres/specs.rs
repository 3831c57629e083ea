//! Specs: how they are written, and a memory of those that this node has met.

use std::sync::{Arc, Mutex, PoisonError};

use chronos_core::job::Target;
use chronos_core::schedule::Cadence;
use chronos_core::store::{Error, Result};
use chronos_core::{Http, JobId, JobSpec, Timestamp};
use rustc_hash::FxHashMap;
use sqlx::PgConnection;

use super::fault::Outcome;
use super::statements::{Bound, Statements};
use super::values::{AsUuid as _, Fields, count, micros, small, text, time, uuids};

/// Specs kept in memory; past this many all are forgotten and read again as they are met.
const KEPT: usize = 65_536;

/// Specs by job; an error for each that cannot be read.
pub(super) type Found = FxHashMap<JobId, Result<Arc<JobSpec>>>;

/// The specs that this node has met, each with the revision that names it.
#[derive(Default)]
pub(super) struct Specs(Mutex<FxHashMap<JobId, (i64, Arc<JobSpec>)>>);

impl Specs {
    fn known(&self, job: JobId, revision: i64) -> Option<Arc<JobSpec>> {
        let specs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        specs.get(&job).filter(|known| known.0 == revision).map(|known| known.1.clone())
    }

    fn learn(&self, job: JobId, revision: i64, spec: Arc<JobSpec>) {
        let mut specs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if specs.len() >= KEPT {
            specs.clear();
        }
        specs.insert(job, (revision, spec));
    }

    /// The specs of these revisions, if this node has met all of them.
    pub(super) fn all_known(&self, jobs: impl Iterator<Item = (JobId, i64)>) -> Option<Found> {
        let specs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |(job, revision)| {
            let known = specs.get(&job).filter(|known| known.0 == revision);
            known.map(|known| (job, Ok(known.1.clone())))
        };
        jobs.map(known).collect()
    }

    /// The specs in force of some jobs, of which the revisions are known; an error for each that cannot
    /// be read, and nothing for those that are deleted.
    pub(super) async fn of(
        &self,
        connection: &mut PgConnection,
        sql: &Statements,
        jobs: impl IntoIterator<Item = (JobId, i64)>,
    ) -> Outcome<Found> {
        let mut specs = FxHashMap::default();
        let mut unknown = Vec::new();
        for (job, revision) in jobs {
            match self.known(job, revision) {
                Some(spec) => drop(specs.insert(job, Ok(spec))),
                None => unknown.push(job),
            }
        }
        if unknown.is_empty() {
            return Ok(specs);
        }
        let query = sql.specs_read.query().bind(uuids(&unknown));
        for row in query.fetch_all(&mut *connection).await? {
            let fields = &mut Fields::of(&row);
            let (id, revision) = (fields.id()?, fields.get()?);
            let spec = decode(fields).map(Arc::new);
            if let Ok(spec) = &spec {
                self.learn(id, revision, spec.clone());
            }
            specs.insert(id, spec);
        }
        Ok(specs)
    }
}

/// The spec in the next two fields.
pub(super) fn decode(fields: &mut Fields<'_>) -> Result<JobSpec> {
    let (spec, payload): (&str, Option<Vec<u8>>) = (fields.get()?, fields.get()?);
    let unreadable = |what: String| Error::Corrupt(format!("a job's spec cannot be read: {what}"));
    let mut spec: JobSpec =
        serde_json::from_str(spec).map_err(|error| unreadable(error.to_string()))?;
    if let (Target::Http(http), Some(payload)) = (&mut spec.target, payload) {
        let whole = Http::clone(http).with_body(payload);
        **http = whole.map_err(|error| unreadable(error.to_string()))?;
    }
    Ok(spec)
}

/// Binds a spec to the statements that write it.
pub(super) fn bind(query: Bound, spec: &JobSpec, now: Timestamp) -> Result<Bound> {
    let mut kept = spec.clone();
    let mut payload = None;
    if let Target::Http(http) = &mut kept.target
        && !http.body().is_empty()
    {
        payload = Some(http.body().to_vec());
        **http = Http::clone(http).with_body("")?;
    }
    let json = serde_json::to_string(&kept)
        .map_err(|error| Error::Corrupt(format!("cannot write a spec: {error}")))?;
    let (kind, expression, zone, seconds) = match spec.schedule.cadence() {
        Cadence::OneShot(_) => ("one_shot", None, None, None),
        Cadence::Interval(interval) => ("interval", None, None, Some(interval.every().as_secs())),
        Cadence::Cron(cron) => {
            let zone = cron.zone().name().to_owned();
            ("cron", Some(cron.expression().to_owned()), Some(zone), None)
        }
    };
    let query = query.bind(spec.id.uuid()).bind(text(&spec.owner)).bind(text(&spec.name));
    let query = query.bind(count(spec.version)).bind(kind).bind(expression).bind(zone);
    let query = query.bind(seconds.map(count)).bind(small(spec.retry.max_retry));
    let query = query.bind(i16::from(spec.priority.level())).bind(payload);
    let query = query.bind(spec.quiet_hours.map(|policy| policy.uuid())).bind(json);
    Ok(query.bind(time(spec.created_at)).bind(time(now)))
}

/// How long a run may take, as the statement that claims it adds it.
pub(super) fn max_execution_us(spec: &JobSpec) -> Option<i64> {
    spec.max_execution_time.map(micros)
}
