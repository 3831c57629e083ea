//! Requests that are known again: what each of them made, for as long as they are kept.

use std::hash::Hasher;

use chronos_core::account::Act;
use chronos_core::store::{Creation, Done, Error, Request, Result};
use chronos_core::{ExecutionId, Job, JobId, Timestamp, TraceId};
use futures::{StreamExt, stream};
use rustc_hash::FxHasher;
use sqlx::PgConnection;
use sqlx::types::Uuid;
use tokio::sync::Semaphore;

use super::fault::Outcome;
use super::partitions::lock_key;
use super::shared::{Shared, step};
use super::values::{AsUuid, Fields, text, time};

/// Requests that are too old and go with one that comes.
const FORGOTTEN_AT_ONCE: i64 = 4;

/// Turns of owners whose jobs are counted. Whoever waits for one waits without a connection, which others
/// need meanwhile.
pub(super) struct Turns([Semaphore; 64]);

impl Default for Turns {
    fn default() -> Self {
        // While one is made durable, the next is under way.
        Self(std::array::from_fn(|_| Semaphore::new(2)))
    }
}

impl Turns {
    /// The turns of this owner, and of a few others.
    fn of(&self, owner: &str) -> &Semaphore {
        let mut hasher = FxHasher::default();
        hasher.write(owner.as_bytes());
        let number = hasher.finish() >> 58;
        &self.0[usize::try_from(number).unwrap_or(0)]
    }
}

/// What a request made.
#[derive(Clone, Copy)]
enum Made {
    Job(JobId),
    Execution(ExecutionId),
}

impl Shared {
    /// Makes jobs, of each part as many at once as there are connections: so they share the waits for the
    /// disk.
    pub(super) async fn create_jobs(
        &self,
        creations: Vec<Creation>,
        act: Act,
    ) -> Result<Vec<Result<Done<JobId>>>> {
        let connections = usize::try_from(self.config.connections).unwrap_or(1).max(1);
        let mut answers = Vec::with_capacity(creations.len());
        for part in Creation::apart(creations) {
            // Whether an owner may have one more job depends on all that come before it.
            let bounded = part.iter().any(|creation| creation.most.is_some());
            let at_once = if bounded { 1 } else { connections };
            let made = part.into_iter().map(|creation| self.create_on_terms(creation, act));
            let mut made = stream::iter(made).buffered(at_once);
            while let Some(answer) = made.next().await {
                match answer {
                    Err(failed @ Error::Unavailable(_)) => return Err(failed),
                    answer => answers.push(answer),
                }
            }
        }
        Ok(answers)
    }

    async fn create_on_terms(&self, creation: Creation, act: Act) -> Result<Done<JobId>> {
        let Creation { spec, request, most } = creation;
        let _turn = match most {
            Some(_) => self.turns.of(&spec.owner).acquire().await.ok(),
            None => None,
        };
        let now = act.at;
        step!(self, act, |session, step| {
            let known = match request {
                Some(request) => self.recall(session, request, now).await?,
                None => None,
            };
            match known {
                Some(Made::Job(made)) => return Ok(Done { made, again: true }),
                Some(Made::Execution(_)) => return Err(Error::RequestReused.into()),
                None => {}
            }
            if let Some(most) = most {
                self.leave_room(session, &spec.owner, most).await?;
            }
            let job = Job::new(spec.clone(), now)?;
            self.add_job(session, step, &job).await?;
            let made = job.spec.id;
            if let Some(request) = request {
                self.remember(session, request, Made::Job(made), now).await?;
            }
            Ok(Done { made, again: false })
        })
    }

    /// Refuses one more job of an owner who has so many. Whoever else adds one for the owner waits here
    /// until this step is over, so that what is counted is what there is.
    async fn leave_room(
        &self,
        connection: &mut PgConnection,
        owner: &str,
        most: u64,
    ) -> Outcome<()> {
        self.take_turns(connection, &format!("jobs of {owner}")).await?;
        let query = self.sql.jobs_count_of.query().bind(text(owner).into_owned());
        let row = query.fetch_one(&mut *connection).await?;
        let count: i64 = Fields::of(&row).get()?;
        let full = u64::try_from(count).is_ok_and(|count| count >= most);
        if full { Err(Error::TooManyJobs(most).into()) } else { Ok(()) }
    }

    pub(super) async fn run_now_once(
        &self,
        job: JobId,
        request: Request,
        trace: Option<TraceId>,
        act: Act,
    ) -> Result<Done<ExecutionId>> {
        let now = act.at;
        step!(self, act, |session, step| {
            match self.recall(session, request, now).await? {
                Some(Made::Execution(made)) => Ok(Done { made, again: true }),
                Some(Made::Job(_)) => Err(Error::RequestReused.into()),
                None => {
                    let made = self.queue_run(session, step, job, trace).await?.id;
                    self.remember(session, request, Made::Execution(made), now).await?;
                    Ok(Done { made, again: false })
                }
            }
        })
    }

    /// What the request made when it came before. The same request waits here until this one is over, so
    /// that it never finds a half of what this one makes.
    async fn recall(
        &self,
        connection: &mut PgConnection,
        request: Request,
        now: Timestamp,
    ) -> Outcome<Option<Made>> {
        let id = Uuid::from_bytes(request.id);
        let lock = lock_key(&self.config.schema, &format!("request {id}"));
        self.sql.advisory_lock.query().bind(lock).execute(&mut *connection).await?;
        let query = self.sql.request_read.query().bind(id).bind(time(now.before(Request::KEPT)));
        let Some(row) = query.fetch_optional(&mut *connection).await? else {
            return Ok(None);
        };
        let fields = &mut Fields::of(&row);
        let digest: Uuid = fields.get()?;
        if digest.into_bytes() != request.digest {
            return Err(Error::RequestReused.into());
        }
        let (job, execution): (Option<Uuid>, Option<Uuid>) = (fields.get()?, fields.get()?);
        let job = job.map(|job| Made::Job(AsUuid::of(job)));
        Ok(job.or(execution.map(|execution| Made::Execution(AsUuid::of(execution)))))
    }

    async fn remember(
        &self,
        connection: &mut PgConnection,
        request: Request,
        made: Made,
        now: Timestamp,
    ) -> Outcome<()> {
        // As many come as go, in the long run.
        let query = self.sql.requests_forget.query().bind(time(now.before(Request::KEPT)));
        query.bind(FORGOTTEN_AT_ONCE).execute(&mut *connection).await?;
        let (job, execution) = match made {
            Made::Job(job) => (Some(job.uuid()), None),
            Made::Execution(execution) => (None, Some(execution.uuid())),
        };
        let query = self.sql.request_put.query().bind(Uuid::from_bytes(request.id));
        let query = query.bind(Uuid::from_bytes(request.digest)).bind(time(now));
        query.bind(job).bind(execution).execute(&mut *connection).await?;
        Ok(())
    }
}
