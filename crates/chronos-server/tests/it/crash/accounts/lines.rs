//! Lines of attempts: each slot has one, numbered without gaps, with one end.

use std::collections::BTreeMap;

use chronos_core::audit::{Decision, EndingKind};
use chronos_core::execution::{CancelCause, State, Trigger};
use chronos_core::{Execution, ExecutionId, Timestamp};

use super::super::Kill;
use super::{Account, Figures};

impl Account {
    /// Checks the job's executions as far as they are kept: those of a deleted job are not.
    pub(super) fn check_lines(&self, kills: &[Kill], figures: &mut Figures) {
        if self.job.is_none() {
            return;
        }
        let mut lines: BTreeMap<(Timestamp, u64), Vec<&Execution>> = BTreeMap::new();
        for row in &self.rows {
            let number = match &row.trigger {
                Trigger::Schedule | Trigger::CatchUp => 0,
                Trigger::Manual { number } => *number,
                Trigger::Notice(_) => panic!("these jobs tell nobody anything"),
                Trigger::Backfill { .. } => panic!("nobody fills these jobs in"),
            };
            lines.entry((row.slot, number)).or_default().push(row);
        }
        for line in lines.values_mut() {
            line.sort_by_key(|row| row.attempt);
            self.check_line(line);
            figures.given_up += usize::from(matches!(line[line.len() - 1].state, State::Stuck(_)));
        }
        figures.lines += lines.len();
        for row in &self.rows {
            figures.lost += usize::from(is_lost_by_a_kill(row, kills));
        }
        self.check_decisions();
        self.check_tally();
    }

    fn check_line(&self, line: &[&Execution]) {
        let about = || format!("{}: {line:#?}", self.title());
        let attempts: Vec<u32> = line.iter().map(|row| row.attempt).collect();
        let count = u32::try_from(line.len()).unwrap();
        assert_eq!(attempts, (1..=count).collect::<Vec<_>>(), "{}", about());
        for row in line {
            let id = ExecutionId::of(row.job, row.slot, &row.trigger, row.attempt);
            assert_eq!((row.id, &row.trigger), (id, &line[0].trigger), "{}", about());
            assert!(row.running().is_none(), "nobody is left to run {}", about());
        }
        let (last, before) = line.split_last().unwrap();
        for row in before {
            let leads_on = match &row.state {
                State::Stuck(_) | State::Failed(..) | State::TimedOut(_) => true,
                State::Cancelled { cause, .. } => *cause == CancelCause::Shutdown,
                _ => false,
            };
            assert!(leads_on, "attempt {} leads to no other: {}", row.attempt, about());
        }
        // A lost attempt has a successor, unless too many were lost.
        assert!(!matches!(last.state, State::Stuck(_)) || last.lost == 3, "{}", about());
    }

    /// Every execution was decided once, and ended as the decision says.
    fn check_decisions(&self) {
        let mut fired: BTreeMap<ExecutionId, u32> = BTreeMap::new();
        let mut ended: BTreeMap<ExecutionId, EndingKind> = BTreeMap::new();
        for decision in self.decided() {
            match decision {
                Decision::Fired { execution, .. } => *fired.entry(*execution).or_default() += 1,
                Decision::Ended { execution, ending, .. } => {
                    let before = ended.insert(*execution, *ending);
                    assert_eq!(before, None, "{execution} of {} ended twice", self.title());
                }
                _ => {}
            }
        }
        assert!(fired.values().all(|times| *times == 1), "{} fired twice", self.title());
        for row in &self.rows {
            let first = ExecutionId::of(row.job, row.slot, &row.trigger, 1);
            let was_fired = fired.contains_key(&first);
            let was_skipped = matches!(row.state, State::Skipped { .. }) && row.attempt == 1;
            assert!(was_fired || was_skipped, "{} has {row:?} from nowhere", self.title());
            let expected = match &row.state {
                State::Success(_) => Some(EndingKind::Success),
                State::Failed(..) => Some(EndingKind::Failed),
                State::TimedOut(_) => Some(EndingKind::TimedOut),
                State::Stuck(_) => Some(EndingKind::Stuck),
                State::Cancelled { run: Some(_), .. } => Some(EndingKind::Cancelled),
                _ => None,
            };
            assert_eq!(ended.get(&row.id).copied(), expected, "{}: {row:?}", self.title());
        }
        let rows: Vec<ExecutionId> = self.rows.iter().map(|row| row.id).collect();
        for execution in fired.keys().chain(ended.keys()) {
            assert!(rows.binary_search(execution).is_ok(), "{execution} left no record");
        }
    }

    fn check_tally(&self) {
        let tally = &self.job.as_ref().unwrap().standing.tally;
        let count =
            |is: fn(&State) -> bool| self.rows.iter().filter(|row| is(&row.state)).count() as u64;
        let ended = |state: &State| match state {
            State::Failed(..) | State::TimedOut(_) | State::Stuck(_) => true,
            State::Cancelled { run, .. } => run.is_some(),
            _ => false,
        };
        let fired = |scheduled: bool| {
            let is_fired = |made: &&Decision| {
                matches!(made, Decision::Fired { trigger, .. }
                    if trigger.is_scheduled() == scheduled)
            };
            self.decided().filter(is_fired).count() as u64
        };
        let counted = (tally.succeeded, tally.failed, tally.fired, tally.manual);
        let found = (
            count(|state| matches!(state, State::Success(_))),
            count(ended),
            fired(true),
            fired(false),
        );
        assert_eq!(counted, found, "{}", self.title());
    }
}

/// Whether the attempt was lost, which only a kill while it ran may be the reason for.
fn is_lost_by_a_kill(row: &Execution, kills: &[Kill]) -> bool {
    let State::Stuck(run) = &row.state else {
        return false;
    };
    let while_it_ran = |kill: &Kill| run.started_at <= kill.to && kill.from <= run.finished_at;
    assert!(kills.iter().any(while_it_ran), "lost without a kill: {row:?}");
    true
}
