//! Telling: when a notice is owed, and which older ones it takes the place of.

use super::{Live, Plan, Withdrawal};
use crate::audit::Decision;
use crate::execution::{Execution, SkipReason, State, Trigger};
use crate::job::{Failing, Job};
use crate::notice::{About, Kind, Notice, Occasions};
use crate::{ExecutionId, Timestamp};

/// A notice that is owed, and what a store must do in the same step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// The notice, waiting to be sent.
    pub notice: Execution,
    /// Older notices of the same kind that wait to be sent again: the newest tells what they would, so a
    /// webhook that is out of order gathers one of each kind.
    pub instead_of: Vec<ExecutionId>,
    /// What was decided.
    pub decision: Decision,
}

impl Telling {
    pub(super) fn new(
        kind: Kind,
        about: &Execution,
        failing: Option<Failing>,
        live: &[&Execution],
        now: Timestamp,
    ) -> Self {
        let notice = Notice { kind, at: now, about: About::from(about), failing };
        let notice = notice.execution(about);
        let waits = |other: &&&Execution| {
            let of_kind = other.notice().is_some_and(|other| other.kind == kind);
            of_kind && other.retry > 0 && other.is_queued() && other.id != notice.id
        };
        let instead_of = live.iter().filter(waits).map(|other| other.id).collect();
        let decision = Decision::Told { notice: notice.id, kind, about: about.id };
        Self { notice, instead_of, decision }
    }
}

/// An execution that was looked at because it may be overdue, and what follows from that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// The execution, which is not looked at again before it may be overdue again.
    pub execution: Execution,
    /// What is told about it.
    pub telling: Option<Telling>,
}

/// Decides what is told about an execution that has not begun in time; `None` when it has time left, or
/// was told of.
///
/// A run that a person keeps waiting is not overdue: its time begins again.
#[must_use]
pub fn overdue(
    job: &Job,
    execution: &Execution,
    live: &Live<'_>,
    now: Timestamp,
) -> Option<Overdue> {
    let waits = execution.is_queued() && execution.overdue_at.is_some_and(|at| at <= now);
    if !waits {
        return None;
    }
    let wanted = Occasions::about(&job.spec, live.usual).overdue;
    let is_kept = job.keeps_waiting(execution);
    let again = wanted.filter(|_| is_kept).map(|after| now.after(after));
    let telling = wanted.filter(|_| !is_kept).map(|_| {
        let failing = job.standing.failing;
        Telling::new(Kind::Overdue, execution, failing, live.executions, now)
    });
    Some(Overdue { execution: Execution { overdue_at: again, ..execution.clone() }, telling })
}

/// Sees to it that the runs of a plan are told of if they do not begin in time, and tells at once of slots
/// that have not: one notice for all of them, about the newest.
pub(super) fn watch(job: &Job, live: &Live<'_>, plan: &mut Plan, now: Timestamp) {
    let Some(after) = Occasions::about(&job.spec, live.usual).overdue else {
        return;
    };
    let is_late = |slot: Timestamp| slot.after(after) <= now;
    for execution in plan.executions.iter_mut().filter(|planned| planned.is_queued()) {
        let due = match execution.trigger {
            Trigger::Schedule => execution.run_at,
            Trigger::CatchUp => execution.slot,
            Trigger::Manual { .. } | Trigger::Notice(_) | Trigger::Backfill { .. } => continue,
        };
        execution.overdue_at = Some(due.after(after)).filter(|at| *at > now);
    }
    let late = plan.decisions.iter().rev().find_map(|decision| match decision {
        Decision::Skipped { slots, reason: SkipReason::Missed } if is_late(slots.first) => {
            let mut rows = plan.executions.iter().rev();
            rows.find(|row| slots.contains(row.slot) && matches!(row.state, State::Skipped { .. }))
        }
        Decision::Fired { execution, slot, trigger, instead_of } => {
            let caught_up = *trigger == Trigger::CatchUp && is_late(*slot);
            let stands_for_late = instead_of.is_some_and(|slots| is_late(slots.first));
            let mut rows = plan.executions.iter();
            rows.find(|row| row.id == *execution && (caught_up || stands_for_late))
        }
        _ => None,
    });
    if let Some(late) = late {
        let failing = plan.standing.failing;
        let telling = Telling::new(Kind::Overdue, late, failing, live.executions, now);
        let id = late.id;
        plan.tell(telling);
        // It stands for slots that were late, and that is told once.
        for execution in plan.executions.iter_mut().filter(|planned| planned.id == id) {
            execution.overdue_at = None;
        }
    }
}

impl Plan {
    fn tell(&mut self, telling: Telling) {
        let Telling { notice, instead_of, decision } = telling;
        let skip = |id| Withdrawal::Skip(id, SkipReason::Superseded);
        self.withdrawals.extend(instead_of.into_iter().map(skip));
        self.executions.push(notice);
        self.decisions.push(decision);
    }
}
