//! What planning promises, claim by claim, on a desk that turns one job by hand.

mod catch_up;
mod change;
mod concluding;
mod cost;
mod crowd;
mod difference;
mod emitting;
mod firing;
mod fixed_delay;
mod herd;
mod manual;
mod overlap;
mod pausing;
mod previewing;
mod quiet;
mod storm;
mod telling;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::execution::{Lease, Report, Running, State, Token};
use crate::job::JobSpec;
use crate::policy::quiet_hours::{Mode, WeekdaySet, Window};
use crate::policy::{CatchUpPolicy, OverlapPolicy};
use crate::schedule::{Schedule, Zone};
use crate::{Error, JobId, PolicyId, WorkerId};

/// An instant of Monday, 2026-11-16, when every job of these tests was made, at 09:00.
fn at(clock: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-11-16T{clock}Z")).unwrap()
}

fn every_minute() -> Schedule {
    Schedule::interval(Duration::from_mins(1), at("09:00:00")).unwrap()
}

fn a_minute_after_each_end() -> Schedule {
    Schedule::fixed_delay(Duration::from_mins(1), at("09:00:00")).unwrap()
}

fn once(clock: &str) -> Schedule {
    Schedule::one_shot(at(clock))
}

fn few(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

/// One job and its live executions, turned by hand as a store would turn them.
struct Desk {
    job: Job,
    live: Vec<Execution>,
    quiet: Option<QuietHours>,
    usual: Option<Occasions>,
}

impl Desk {
    fn new(schedule: Schedule) -> Self {
        let id = JobId::new(Timestamp::EPOCH, [1; 10]);
        let spec = JobSpec::new(id, "report", schedule, at("09:00:00"));
        let job = Job::new(spec, at("09:00:00")).unwrap();
        Self { job, live: Vec::new(), quiet: None, usual: None }
    }

    fn with(mut self, adjust: impl FnOnce(&mut JobSpec)) -> Self {
        adjust(Arc::make_mut(&mut self.job.spec));
        self
    }

    fn overlap(self, overlap: OverlapPolicy) -> Self {
        self.with(|spec| spec.overlap = overlap)
    }

    fn catch_up(self, catch_up: CatchUpPolicy) -> Self {
        self.with(|spec| spec.catch_up = catch_up)
    }

    fn retries(self, max_retry: u32) -> Self {
        self.with(|spec| spec.retry.max_retry = max_retry)
    }

    fn quiet(mut self, mode: Mode, start: &str, end: &str) -> Self {
        let id = PolicyId::new(Timestamp::EPOCH, [0; 10]);
        self.quiet = Some(QuietHours {
            windows: vec![Window::new(WeekdaySet::EVERY_DAY, start, end).unwrap()],
            mode,
            ..QuietHours::new(id, "lunch", Zone::UTC, Timestamp::EPOCH)
        });
        self
    }

    fn act<T>(&self, act: impl FnOnce(&Job, &Live<'_>) -> T) -> T {
        let executions: Vec<_> = self.live.iter().collect();
        let quiet_hours = self.quiet.as_ref();
        let live =
            Live { executions: &executions, quiet_hours, usual: self.usual, ..Live::default() };
        act(&self.job, &live)
    }

    fn plan(&mut self, clock: &str) -> Plan {
        let planned = self.act(|job, live| plan(job, live, at(clock)));
        self.apply(&planned, clock);
        planned
    }

    fn run_now(&mut self, clock: &str) -> Option<Plan> {
        let planned = self.act(|job, live| run_now(job, live, None, at(clock)))?;
        self.apply(&planned, clock);
        Some(planned)
    }

    fn change(&mut self, change: Change, clock: &str) -> Result<Plan, Error> {
        let amended = self.act(|job, live| amend(job, live, change, at(clock)))?;
        self.job.spec = amended.spec;
        self.apply(&amended.plan, clock);
        Ok(amended.plan)
    }

    fn pause(&mut self, clock: &str) -> Plan {
        self.change(Change::Pause { note: None, resume_at: None }, clock).unwrap()
    }

    fn pause_until(&mut self, clock: &str, end: &str) -> Plan {
        let (note, resume_at) = (Some("moving house".into()), Some(at(end)));
        self.change(Change::Pause { note, resume_at }, clock).unwrap()
    }

    fn resume(&mut self, clock: &str) -> Plan {
        self.change(Change::Resume, clock).unwrap()
    }

    fn edit(&mut self, clock: &str, adjust: impl FnOnce(&mut JobSpec)) -> Result<Plan, Error> {
        let mut spec = (*self.job.spec).clone();
        adjust(&mut spec);
        self.change(Change::Edit(Box::new(spec)), clock)
    }

    /// A worker takes the oldest execution that is free to begin.
    fn claim(&mut self, clock: &str) {
        let lease =
            Lease { worker: WorkerId::new("w"), token: Token(1), expires_at: Timestamp::MAX };
        let mut free = self.live.iter_mut();
        let free = free.find(|live| live.is_queued() && !live.is_held());
        free.expect("something is free to begin").state =
            State::Running(Running::begin(lease, at(clock)));
    }

    /// The oldest running execution comes to its end.
    fn finish(&mut self, ending: Ending, clock: &str) -> Conclusion {
        let running = self.live.iter().position(|live| live.running().is_some());
        let execution = self.live.remove(running.expect("something runs"));
        let siblings: Vec<_> = self.live.iter().collect();
        let live = Live { executions: &siblings, usual: self.usual, ..Live::default() };
        let report = Report::at(at(clock));
        let concluded = conclude(Some(&self.job), &execution, &live, ending, report).unwrap();
        if let Some(telling) = &concluded.telling {
            self.tell(telling);
        }
        self.live.extend(concluded.again.clone());
        self.live.sort_by_key(|live| (live.slot, live.attempt));
        self.job.standing = concluded.standing.clone().unwrap();
        self.follow_up(clock);
        concluded
    }

    fn tell(&mut self, telling: &Telling) {
        self.live.retain(|live| !telling.instead_of.contains(&live.id));
        self.live.push(telling.notice.clone());
    }

    /// Fires, claims and ends the run that is due.
    fn run(&mut self, clock: &str, ending: Ending) -> Conclusion {
        self.plan(clock);
        self.claim(clock);
        self.finish(ending, clock)
    }

    fn apply(&mut self, plan: &Plan, clock: &str) {
        for withdrawal in &plan.withdrawals {
            let id = withdrawal.execution();
            let live = self.live.iter_mut().find(|live| live.id == id).unwrap();
            match (withdrawal, &mut live.state) {
                (Withdrawal::Cancel(_, cause), State::Running(running)) => {
                    running.cancel = Some(*cause);
                }
                (Withdrawal::Hold(_), state) => *state = State::Queued { held: true },
                _ => self.live.retain(|live| live.id != id),
            }
        }
        let queued = plan.executions.iter().filter(|row| row.is_live());
        self.live.extend(queued.cloned());
        self.job.standing = plan.standing.clone();
        self.follow_up(clock);
    }

    fn follow_up(&mut self, clock: &str) {
        let executions: Vec<_> = self.live.iter().collect();
        let follow = follow_up(&self.job, &executions, at(clock));
        for live in &mut self.live {
            if follow.release.contains(&live.id) {
                live.state = State::Queued { held: false };
            }
        }
        if follow.next_slot.is_some() {
            self.job.standing.next_slot = follow.next_slot;
        }
        if follow.over {
            self.job.standing.enabled = false;
        }
    }

    fn alive(&self) -> Vec<String> {
        self.live.iter().map(row).collect()
    }

    fn next(&self) -> Option<String> {
        self.job.standing.next_slot.map(clock)
    }
}

fn clock(instant: Timestamp) -> String {
    instant.to_datetime().format("%H:%M:%S%.f").to_string()
}

/// An execution in a few words, such as "09:01:00 skipped: missed".
fn row(execution: &Execution) -> String {
    let mut text = clock(execution.slot);
    if let Trigger::Manual { .. } = execution.trigger {
        text += " by hand";
    }
    if let Some(notice) = execution.notice() {
        text = format!("{text} notice of {}", notice.kind.as_str());
    }
    if execution.attempt > 1 {
        text = format!("{text} attempt {}", execution.attempt);
    }
    let state = match &execution.state {
        State::Queued { held: false } => "queued".into(),
        State::Queued { held: true } => "held".into(),
        State::Running(running) if running.cancel.is_some() => "stopping".into(),
        State::Skipped { reason, .. } => format!("skipped: {}", reason.as_str()),
        _ => execution.status().to_lowercase(),
    };
    format!("{text} {state}")
}

fn rows(plan: &Plan) -> Vec<String> {
    plan.executions.iter().map(row).collect()
}

fn summaries(plan: &Plan) -> Vec<String> {
    let shorter = |text: String| text.replace("2026-11-16T", "").replace('Z', "");
    plan.decisions.iter().map(|made| shorter(made.summary())).collect()
}
