//! A step: what one verb knows and changes, in memory, between its reads and its writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chronos_core::account::Act;
use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::execution::State;
use chronos_core::job::Status;
use chronos_core::notice::Occasions;
use chronos_core::plan::{Ending, Storm};
use chronos_core::policy::{QuietHours, Rank};
use chronos_core::store::{Claim, Error, Hold, Result, Taker};
use chronos_core::{
    Backfill, Execution, ExecutionId, Job, JobId, JobSpec, Message, PolicyId, Standing, Timestamp,
    TraceId, UserId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::rows::StandingRow;

/// A job that is locked, and what lives of it.
pub(super) struct Desk {
    pub(super) row: StandingRow,
    /// The job; none when it was deleted, an error when its spec cannot be read.
    pub(super) job: Result<Option<Job>>,
    pub(super) live: Vec<Execution>,
    /// Whether the step has changed where the job stands, or what lives of it.
    pub(super) changed: bool,
}

impl Desk {
    /// The job; an error when there is none.
    pub(super) fn job(&self) -> Result<&Job> {
        match &self.job {
            Ok(job) => job.as_ref().ok_or(Error::NoSuchJob(self.row.id)),
            Err(unreadable) => Err(unreadable.clone()),
        }
    }

    pub(super) fn standing(&self) -> &Standing {
        match &self.job {
            Ok(Some(job)) => &job.standing,
            _ => &self.row.standing,
        }
    }

    pub(super) fn standing_mut(&mut self) -> &mut Standing {
        self.changed = true;
        match &mut self.job {
            Ok(Some(job)) => &mut job.standing,
            _ => &mut self.row.standing,
        }
    }

    pub(super) fn due_at(&self) -> Option<Timestamp> {
        match &self.job {
            Ok(Some(job)) => job.due_at(),
            Ok(None) => None,
            Err(_) => self.row.due,
        }
    }

    /// The job's status while nothing of it waits or runs.
    pub(super) fn rest(&self) -> Status {
        match &self.job {
            _ if self.row.deleted => Status::Pending,
            Ok(Some(job)) => Status::at_rest(job.spec.schedule.is_one_shot(), &job.standing),
            _ => Status::at_rest(false, &self.row.standing),
        }
    }

    /// Retries so far of the slot that is being tried again.
    pub(super) fn retry_count(&self) -> u32 {
        let runs = self.live.iter().filter(|live| live.notice().is_none());
        runs.map(|live| live.retry).max().unwrap_or(0)
    }
}

/// What one verb knows and changes.
pub(super) struct Step {
    pub(super) now: Timestamp,
    /// The user who asked for it.
    by: Option<UserId>,
    /// What is told about jobs that do not say.
    pub(super) usual: Option<Occasions>,
    /// What was caught up of late, by this node.
    pub(super) storm: Storm,
    pub(super) desks: BTreeMap<JobId, Desk>,
    pub(super) policies: BTreeMap<PolicyId, QuietHours>,
    job_of: FxHashMap<ExecutionId, JobId>,
    /// Live executions that have rows.
    on_file: FxHashSet<ExecutionId>,
    /// Live executions whose rows are to be written.
    pub(super) put: FxHashSet<ExecutionId>,
    /// Live executions whose rows are to be deleted.
    pub(super) gone: Vec<ExecutionId>,
    /// Executions that are over, and whether each is a dead letter.
    pub(super) past: Vec<(Execution, bool)>,
    /// What it decided; the numbers are told by their places.
    pub(super) events: Vec<AuditEvent>,
    pub(super) messages: Vec<Message>,
    /// Backfills that are to be written.
    pub(super) backfills: BTreeMap<(JobId, u64), Backfill>,
    /// Whether a backfill may go on by it.
    pub(super) backfilled: bool,
    pub(super) taking: Option<Taking>,
    /// Whether someone was asked to stop.
    pub(super) asked_to_stop: bool,
    /// Whether the step plans due jobs: then whoever asked for it is told by the answer when the next is
    /// due.
    pub(super) fires: bool,
    /// When jobs are due that the step makes, or counts a run of, without a desk.
    pub(super) due_aside: Option<Timestamp>,
}

/// A worker that takes what a step fires, and what it took so far.
pub(super) struct Taking {
    pub(super) taker: Taker,
    /// Whether something has waited longer than what fires now.
    waited: Waited,
    pub(super) claims: Vec<Claim>,
    /// How many of them are of the crowd.
    crowd: usize,
}

/// Whether something waits whose time has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    /// Something that goes before the crowd.
    pub(super) few: bool,
    /// Something of the crowd.
    pub(super) crowd: bool,
}

impl Taking {
    pub(super) fn new(taker: Taker, waited: Waited) -> Self {
        Self { taker, waited, claims: Vec::new(), crowd: 0 }
    }

    pub(super) fn admits(&self, rank: Rank) -> bool {
        // Those before the crowd do not wait for it.
        let waited = self.waited.few || rank.is_crowd() && self.waited.crowd;
        !waited && self.taker.openings.admit(rank, self.claims.len(), self.crowd)
    }

    pub(super) fn take(&mut self, claim: Claim) {
        self.crowd += usize::from(claim.execution.rank.is_crowd());
        self.claims.push(claim);
    }
}

impl Step {
    pub(super) fn new(act: impl Into<Act>, usual: Option<Occasions>) -> Self {
        let Act { at: now, by, .. } = act.into();
        Self {
            now,
            by,
            usual,
            storm: Storm::default(),
            desks: BTreeMap::new(),
            policies: BTreeMap::new(),
            job_of: FxHashMap::default(),
            on_file: FxHashSet::default(),
            put: FxHashSet::default(),
            gone: Vec::new(),
            past: Vec::new(),
            events: Vec::new(),
            messages: Vec::new(),
            backfills: BTreeMap::new(),
            backfilled: false,
            taking: None,
            asked_to_stop: false,
            fires: false,
            due_aside: None,
        }
    }

    /// Takes a locked job into the step.
    pub(super) fn sit_down(&mut self, spec: Option<Result<Arc<JobSpec>>>, row: StandingRow) {
        let job = match spec {
            _ if row.deleted => Ok(None),
            Some(Ok(spec)) => Ok(Some(Job { spec, standing: row.standing.clone() })),
            Some(Err(unreadable)) => Err(unreadable),
            None => Err(Error::Corrupt(format!("job {} has no spec", row.id))),
        };
        self.desks.insert(row.id, Desk { row, job, live: Vec::new(), changed: false });
    }

    /// The policies that jobs of the step observe and that were not read yet.
    pub(super) fn missing_policies(&self) -> BTreeSet<PolicyId> {
        let jobs = self.desks.values().filter_map(|desk| desk.job.as_ref().ok()?.as_ref());
        let observed = jobs.filter_map(|job| job.spec.quiet_hours);
        observed.filter(|policy| !self.policies.contains_key(policy)).collect()
    }

    /// Adds an execution that has a row to its job's desk.
    pub(super) fn meet(&mut self, execution: Execution) {
        if let Some(desk) = self.desks.get_mut(&execution.job) {
            self.job_of.insert(execution.id, execution.job);
            self.on_file.insert(execution.id);
            desk.live.push(execution);
        }
    }

    /// The job's desk; an error when there is no such job.
    pub(super) fn desk(&mut self, job: JobId) -> Result<&mut Desk> {
        self.desks.get_mut(&job).ok_or(Error::NoSuchJob(job))
    }

    pub(super) fn live(&self, id: ExecutionId) -> Option<&Execution> {
        let desk = self.desks.get(self.job_of.get(&id)?)?;
        desk.live.iter().find(|live| live.id == id)
    }

    /// The execution, if the hold on it is still good.
    pub(super) fn held(&self, hold: &Hold) -> Option<&Execution> {
        let execution = self.live(hold.execution)?;
        (execution.running()?.lease.token == hold.token).then_some(execution)
    }

    /// Files a decision about a job of the step, as a part of this trace if somebody else began it.
    pub(super) fn decide(&mut self, job: JobId, trace: Option<TraceId>, decision: Decision) {
        let known = self.desks.get(&job).and_then(|desk| desk.job.as_ref().ok()?.as_ref());
        let spec = known.map(|job| job.spec.clone());
        self.note(spec.as_ref().map_or("", |spec| &spec.owner), Some(job), trace, decision);
    }

    /// Files a decision about what is this owner's.
    pub(super) fn note(
        &mut self,
        owner: &str,
        job: Option<JobId>,
        trace: Option<TraceId>,
        decision: Decision,
    ) {
        // Mostly all that a step decides is about what is one owner's.
        let last = self.events.last().map(|event| &event.owner).filter(|last| ***last == *owner);
        let owner = last.cloned().unwrap_or_else(|| owner.into());
        let (sequence, at) = (0, self.now);
        let by = self.by.filter(|_| decision.is_asked_for());
        self.events.push(AuditEvent { sequence, at, by, owner, job, trace, decision });
    }

    /// Keeps a live execution in its new state.
    pub(super) fn put_live(&mut self, execution: Execution) -> Result<()> {
        self.put.insert(execution.id);
        self.job_of.insert(execution.id, execution.job);
        if let Some(taking) = &mut self.taking {
            let ready = matches!(execution.state, State::Queued { held: false });
            let side = if execution.rank.is_crowd() {
                &mut taking.waited.crowd
            } else {
                &mut taking.waited.few
            };
            *side |= ready && execution.run_at <= self.now;
        }
        let desk = self.desk(execution.job)?;
        // Whoever knows the job by its count of changes must see that this one is no longer as it was.
        desk.changed = true;
        if let Some(live) = desk.live.iter_mut().find(|live| live.id == execution.id) {
            *live = execution;
        } else {
            desk.live.push(execution);
        }
        Ok(())
    }

    /// Files an execution that is over with its job's past.
    pub(super) fn put_past(&mut self, execution: Execution, dead_letter: bool) {
        let id = execution.id;
        self.job_of.remove(&id);
        self.put.remove(&id);
        if self.on_file.remove(&id) {
            self.gone.push(id);
        }
        if let Some(desk) = self.desks.get_mut(&execution.job) {
            let before = desk.live.len();
            desk.live.retain(|live| live.id != id);
            desk.changed |= desk.live.len() != before;
        }
        self.past.push((execution, dead_letter));
    }

    /// Live executions to be written: those without a row, then those with one.
    pub(super) fn written(&self) -> (Vec<&Execution>, Vec<&Execution>) {
        let mut written: Vec<&Execution> =
            self.put.iter().filter_map(|id| self.live(*id)).collect();
        written.sort_unstable_by_key(|execution| execution.id);
        written.into_iter().partition(|execution| !self.on_file.contains(&execution.id))
    }

    /// Notes when a job is due that the step locks for a moment and leaves where it is.
    pub(super) fn pass_by(&mut self, due: Option<Timestamp>) {
        let soon = due.filter(|due| *due <= self.now.after(SOON));
        self.due_aside = self.due_aside.into_iter().chain(soon).min();
    }

    /// The earliest time at which a job is due of which others may not know. Those are the jobs that the
    /// step moved, and those that come due about now: a planner passes over what the step has locked.
    pub(super) fn earliest_due(&self) -> Option<Timestamp> {
        let soon = self.now.after(SOON);
        let news = self.desks.values().filter_map(|desk| {
            desk.due_at().filter(|due| *due <= soon || Some(*due) != desk.row.due)
        });
        news.chain(self.due_aside).min()
    }

    /// The earliest time at which an execution may begin of which others may not know: one that the step
    /// queued, or one that a worker may have passed over because the step has locked it.
    pub(super) fn earliest_ready(&self) -> Option<Timestamp> {
        let soon = self.now.after(SOON);
        let live = self.desks.values().flat_map(|desk| &desk.live);
        let ready = live.filter(|it| matches!(it.state, State::Queued { held: false }));
        let news = ready.filter(|it| it.run_at <= soon || self.put.contains(&it.id));
        news.map(|execution| execution.run_at).min()
    }
}

/// A step is over within this time.
const SOON: Duration = Duration::from_secs(2);

/// When and how a running execution is taken from its worker.
pub(super) fn expiry(execution: &Execution) -> Option<(Timestamp, Ending)> {
    let running = execution.running()?;
    let lease_end = running.lease.expires_at;
    // The worker stops its own run at the deadline; only one that has not by far is dead or deaf.
    let lease = lease_end.since(running.heartbeat_at);
    match running.deadline.map(|deadline| deadline.after(lease)) {
        Some(overdue) if overdue < lease_end => Some((overdue, Ending::TimedOut)),
        _ => Some((lease_end, Ending::Stuck)),
    }
}
