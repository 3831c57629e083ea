//! What backfills promise, claim by claim and by law, on a job that is turned by hand.

mod asking;
mod laws;
mod turning;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::execution::{Lease, Report, Running, Token};
use crate::job::{Job, JobSpec};
use crate::plan::{Conclusion, Ending, Live, Plan, Withdrawal, conclude, follow_up, plan};
use crate::policy::QuietHours;
use crate::{JobId, WorkerId};

/// An instant so many seconds after the job was made.
fn at(second: i64) -> Timestamp {
    Timestamp::from_secs(1_800_000_000 + second)
}

/// A job with a slot every so many seconds, and everything that is known of its executions.
struct Desk {
    job: Job,
    live: Vec<Execution>,
    past: Vec<Execution>,
    decisions: Vec<Decision>,
    backfill: Option<Backfill>,
    quiet: Option<QuietHours>,
}

impl Desk {
    fn every(seconds: u64) -> Self {
        let schedule = Schedule::interval(Duration::from_secs(seconds), at(0)).unwrap();
        Self::on(schedule)
    }

    fn on(schedule: Schedule) -> Self {
        let id = JobId::new(Timestamp::EPOCH, [1; 10]);
        let job = Job::new(JobSpec::new(id, "report", schedule, at(0)), at(0)).unwrap();
        let (live, past, decisions) = (Vec::new(), Vec::new(), Vec::new());
        Self { job, live, past, decisions, backfill: None, quiet: None }
    }

    fn with(mut self, adjust: impl FnOnce(&mut JobSpec)) -> Self {
        adjust(Arc::make_mut(&mut self.job.spec));
        self
    }

    fn ask(&self, asked: &Asked, second: i64) -> Result<Backfill, String> {
        Backfill::new(&self.job, asked, at(second)).map_err(|error| error.to_string())
    }

    /// Begins a backfill.
    fn begin(&mut self, asked: &Asked, second: i64) {
        let backfill = Backfill::new(&self.job, asked, at(second)).unwrap();
        let number = self.backfill.as_ref().map_or(1, |before| before.number + 1);
        self.backfill = Some(Backfill { number, ..backfill });
    }

    fn state(&self) -> &Backfill {
        self.backfill.as_ref().unwrap()
    }

    fn ledger(&self) -> Vec<Entry> {
        self.live.iter().chain(&self.past).filter_map(Entry::of).collect()
    }

    fn look<T>(&self, look: impl FnOnce(&Job, &Live<'_>) -> T) -> T {
        let executions: Vec<_> = self.live.iter().collect();
        let quiet_hours = self.quiet.as_ref();
        look(&self.job, &Live { executions: &executions, quiet_hours, ..Live::default() })
    }

    /// Takes one turn of the backfill; says what became of it.
    fn turn(&mut self, second: i64) -> Turn {
        let (ledger, backfill) = (self.ledger(), self.state().clone());
        let turned = self.look(|job, live| turn(&backfill, job, live, &ledger, at(second)));
        match &turned {
            Turn::Fire { after, plan } => {
                self.backfill = Some((**after).clone());
                self.apply(plan, second);
            }
            Turn::PassOver { after, decision } => {
                self.backfill = Some((**after).clone());
                self.decisions.extend(decision.clone());
            }
            Turn::Wait(_) | Turn::Rest => {}
        }
        turned
    }

    /// Takes turns until there is nothing to do.
    fn turns(&mut self, second: i64) {
        while matches!(self.turn(second), Turn::Fire { .. } | Turn::PassOver { .. }) {}
    }

    /// Plans the schedule.
    fn plan(&mut self, second: i64) {
        let planned = self.look(|job, live| plan(job, live, at(second)));
        self.apply(&planned, second);
    }

    fn apply(&mut self, plan: &Plan, second: i64) {
        self.job.standing = plan.standing.clone();
        self.decisions.extend(plan.decisions.clone());
        let mut gone = Vec::new();
        for withdrawal in &plan.withdrawals {
            let place = self.live.iter().position(|live| live.id == withdrawal.execution());
            let Some(place) = place else { continue };
            match (withdrawal, &mut self.live[place].state) {
                (Withdrawal::Cancel(_, cause), Stage::Running(running)) => {
                    running.cancel = Some(*cause);
                }
                (Withdrawal::Hold(_), state) => *state = Stage::Queued { held: true },
                (Withdrawal::Skip(_, reason), _) => {
                    let mut ended = self.live.remove(place);
                    ended.state = Stage::Skipped { reason: reason.clone(), at: at(second) };
                    gone.push(ended);
                }
                (Withdrawal::Cancel(_, cause), _) => {
                    let mut ended = self.live.remove(place);
                    ended.state = Stage::Cancelled { run: None, cause: *cause, at: at(second) };
                    gone.push(ended);
                }
            }
        }
        for execution in &plan.executions {
            if execution.is_live() {
                self.live.push(execution.clone());
            } else {
                gone.push(execution.clone());
            }
        }
        self.file(gone, second);
        self.follow_up(second);
    }

    /// Files what is over, and counts what was the backfill's, as a store does.
    fn file(&mut self, ended: Vec<Execution>, second: i64) {
        for ended in ended {
            let lives_on =
                |live: &Execution| live.slot == ended.slot && live.trigger == ended.trigger;
            if let Some(backfill) = self.backfill.as_ref().filter(|it| it.asked_for(&ended))
                && !self.live.iter().any(lives_on)
            {
                let (after, decision) = backfill.after_end(&ended, at(second));
                self.backfill = Some(after);
                self.decisions.extend(decision);
            }
            self.past.push(ended);
        }
    }

    fn follow_up(&mut self, second: i64) {
        let executions: Vec<_> = self.live.iter().collect();
        let follow = follow_up(&self.job, &executions, at(second));
        for live in &mut self.live {
            if follow.release.contains(&live.id) {
                live.state = Stage::Queued { held: false };
            }
        }
    }

    /// A worker takes the first execution that is free to begin; says which, if there is one.
    fn claim(&mut self, second: i64) -> Option<Timestamp> {
        let free = |live: &&mut Execution| {
            live.is_queued() && !live.is_held() && live.run_at <= at(second)
        };
        let claimed = self.live.iter_mut().find(free)?;
        let lease =
            Lease { worker: WorkerId::new("w"), token: Token(1), expires_at: Timestamp::MAX };
        claimed.state = Stage::Running(Running::begin(lease, at(second)));
        Some(claimed.slot)
    }

    /// The running execution at a place comes to its end.
    fn finish(&mut self, place: usize, ending: Ending, second: i64) -> Option<Conclusion> {
        let running = self.live.iter().enumerate().filter(|(_, live)| live.running().is_some());
        let running: Vec<usize> = running.map(|(place, _)| place).collect();
        let place = *running.get(place % running.len().max(1))?;
        let execution = self.live.remove(place);
        let siblings: Vec<_> = self.live.iter().collect();
        let live = Live { executions: &siblings, ..Live::default() };
        let report = Report::at(at(second));
        let concluded = conclude(Some(&self.job), &execution, &live, ending, report).unwrap();
        self.live.extend(concluded.again.clone());
        self.job.standing = concluded.standing.clone().unwrap();
        self.file(vec![concluded.ended.clone()], second);
        self.follow_up(second);
        Some(concluded)
    }

    /// Claims and ends everything that can begin, one after the other.
    fn run_all(&mut self, second: i64) {
        while self.claim(second).is_some() {
            self.finish(0, Ending::Success, second);
        }
    }

    /// The slots that the backfill fired, in order, in seconds.
    fn fired(&self) -> Vec<i64> {
        let fired = self.decisions.iter().filter_map(|decision| match decision {
            Decision::Fired { slot, trigger, .. } if trigger.backfill().is_some() => Some(*slot),
            _ => None,
        });
        fired.map(|slot| slot.as_secs() - at(0).as_secs()).collect()
    }
}
