//! Requests that are known again: what each of them made, for as long as they are kept.

use std::ops::ControlFlow;

use chronos_core::store::{Creation, Done, Error, Request, Result};
use chronos_core::{Execution, ExecutionId, JobId, Timestamp, TraceId};
use serde::{Deserialize, Serialize};

use super::keys::{Key, Table, dated_in};
use super::state::engine;
use super::step::{Step, readable};
use crate::kv::Order;

/// Requests that are too old and go with one that comes.
const FORGOTTEN_AT_ONCE: usize = 4;

/// What a request made.
#[derive(Debug, Serialize, Deserialize)]
struct RequestRecord {
    digest: [u8; 16],
    at: Timestamp,
    made: Made,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Made {
    Job(JobId),
    Execution(ExecutionId),
}

impl Step<'_> {
    /// Makes jobs of which none can be another's reason to be refused.
    pub(super) fn create_jobs(
        &mut self,
        creations: Vec<Creation>,
    ) -> Result<Vec<Result<Done<JobId>>>> {
        creations.into_iter().map(|creation| readable(self.create_on_terms(creation))).collect()
    }

    fn create_on_terms(&mut self, creation: Creation) -> Result<Done<JobId>> {
        let Creation { spec, request, most } = creation;
        match request.map(|request| self.recall(request)).transpose()?.flatten() {
            Some(Made::Job(made)) => return Ok(Done { made, again: true }),
            Some(Made::Execution(_)) => return Err(Error::RequestReused),
            None => {}
        }
        let count = || self.state.index.roll.count_of(&spec.owner);
        if let Some(most) = most.filter(|most| count() >= *most) {
            return Err(Error::TooManyJobs(most));
        }
        let made = self.create_job(spec)?.spec.id;
        if let Some(request) = request {
            self.remember(request, Made::Job(made))?;
        }
        Ok(Done { made, again: false })
    }

    pub(super) fn run_now_once(
        &mut self,
        job: JobId,
        request: Request,
        trace: Option<TraceId>,
    ) -> Result<Done<ExecutionId>> {
        match self.recall(request)? {
            Some(Made::Execution(made)) => Ok(Done { made, again: true }),
            Some(Made::Job(_)) => Err(Error::RequestReused),
            None => {
                let Execution { id, .. } = self.run_now(job, trace)?;
                self.remember(request, Made::Execution(id))?;
                Ok(Done { made: id, again: false })
            }
        }
    }

    /// What the request made when it came before.
    fn recall(&self, request: Request) -> Result<Option<Made>> {
        let record: Option<RequestRecord> = self.state.read(&Key::Request(request.id))?;
        let known = record.filter(|record| self.now.since(record.at) < Request::KEPT);
        match known {
            Some(known) if known.digest != request.digest => Err(Error::RequestReused),
            known => Ok(known.map(|known| known.made)),
        }
    }

    fn remember(&mut self, request: Request, made: Made) -> Result<()> {
        self.forget_oldest(request.id)?;
        let record = RequestRecord { digest: request.digest, at: self.now, made };
        self.mark(&Key::RequestAge(self.now, request.id));
        self.put(&Key::Request(request.id), &record)
    }

    /// Deletes a few requests that are too old: as many come as go, in the long run.
    fn forget_oldest(&mut self, newcomer: [u8; 16]) -> Result<()> {
        let (first, _) = Table::RequestAge.range();
        let to = Key::RequestAge(self.now.before(Request::KEPT), [0; 16]).encode();
        // What was deleted before is not gone through again.
        let from = self.state.forgotten_until.take().unwrap_or(first);
        let mut old = Vec::new();
        if *from < *to {
            engine(self.state.kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
                old.extend(dated_in(key));
                self.state.forgotten_until = Some(key.to_vec());
                if old.len() < FORGOTTEN_AT_ONCE {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            }))?;
        }
        if old.is_empty() {
            self.state.forgotten_until = Some(from);
        }
        for (at, id) in old {
            self.delete(&Key::RequestAge(at, id));
            // The key may have been given to a newer request since.
            let record: Option<RequestRecord> = self.state.read(&Key::Request(id))?;
            if id != newcomer && record.is_some_and(|record| record.at == at) {
                self.delete(&Key::Request(id));
            }
        }
        Ok(())
    }
}
