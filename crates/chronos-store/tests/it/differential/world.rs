//! The world: a history is lived through by a store and by the reference, and what they say is compared.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::{AuditEvent, Decision, Slots};
use chronos_core::execution::{SkipReason, State, Trigger};
use chronos_core::plan::{Change, Ending};
use chronos_core::store::{EventFilter, Finish, Terms};
use chronos_core::{Execution, JobSpec, Timestamp, WorkerId};

use super::changing::Refused;
use super::reference::{Paused, Reference, Told};
use super::setup::{History, Quiet, Setup, Step, Verb, job_id};
use crate::bench::Bench;

/// More than a history has of anything.
const ALL: usize = 1_000_000;
/// Looks at what is due before there must be nothing left.
const LOOKS: usize = 100;

pub(super) struct World {
    bench: Bench,
    history: History,
    now: Timestamp,
    quiet: Vec<Quiet>,
    /// The jobs that were made, each with the schedule that it was given last.
    jobs: Vec<(usize, Reference, JobSpec)>,
}

impl World {
    pub(super) async fn new(bench: Bench, history: &History) -> Self {
        let now = history.span.start;
        let mut jobs = Vec::new();
        for (number, quiet) in history.quiet.iter().enumerate() {
            bench.create_policy(quiet.policy(number, now)).await.unwrap();
        }
        for (number, setup) in history.jobs.iter().enumerate() {
            let spec = setup.spec(number, now);
            let made = bench.create_job(spec.clone(), now).await;
            let reference = Reference::new(setup.clone(), history.span, now);
            assert_eq!(made.is_ok(), reference.is_some(), "job {number} is made: {made:?}");
            jobs.extend(reference.map(|reference| (number, reference, spec)));
        }
        Self { bench, history: history.clone(), now, quiet: history.quiet.clone(), jobs }
    }

    pub(super) async fn live(mut self) {
        for (number, step) in self.history.steps.clone().into_iter().enumerate() {
            self.now = Timestamp::from_micros(self.now.as_micros() + step.later);
            self.perform(&step).await;
            self.run_all().await;
            for (job, reference, _) in &self.jobs {
                self.compare_standing(number, *job, reference).await;
            }
        }
        self.compare_records().await;
    }

    async fn perform(&mut self, step: &Step) {
        let now = self.now;
        match &step.verb {
            Verb::Fire => {
                self.fire().await;
                for (_, reference, _) in &mut self.jobs {
                    let quiet = reference.setup.quiet.map(|quiet| &self.quiet[quiet]);
                    reference.fire(now, quiet);
                }
            }
            Verb::Restart => self.bench.restart().await,
            Verb::EditQuiet(number, quiet) => {
                self.bench.edit_policy(quiet.policy(*number, now), None, now).await.unwrap();
                self.quiet[*number] = quiet.clone();
            }
            Verb::Pause(job, note, span) => {
                let note = note.then_some("a note");
                let until = span.map(|span| now.after(Duration::from_secs(span.unsigned_abs())));
                let change = Change::Pause { note: note.map(Arc::from), resume_at: until };
                self.amend(*job, change, |reference, quiet| {
                    reference.pause(now, quiet, Paused { note, until })
                })
                .await;
            }
            Verb::Resume(job) => {
                self.amend(*job, Change::Resume, |reference, quiet| {
                    reference.resume(now, quiet);
                    Ok(())
                })
                .await;
            }
            Verb::Disable(job) => {
                self.amend(*job, Change::Disable, |reference, quiet| {
                    reference.disable(now, quiet);
                    Ok(())
                })
                .await;
            }
            Verb::Enable(job) => {
                self.amend(*job, Change::Enable, |reference, quiet| reference.enable(now, quiet))
                    .await;
            }
            Verb::RunNow(job) => {
                if let Some((number, reference, _)) = self.jobs.get_mut(*job) {
                    self.bench.run_now(job_id(*number), None, now).await.unwrap();
                    reference.run_now(now);
                }
            }
            Verb::Edit(job, setup, all) => self.edit(*job, setup, *all).await,
        }
    }

    /// Somebody looks until nothing is due.
    async fn fire(&self) {
        for _ in 0..LOOKS {
            let fired = self.bench.fire_due(self.now, 3, None).await.unwrap();
            if fired.next.is_none_or(|next| next > self.now) {
                return;
            }
        }
        panic!("something is due for ever");
    }

    async fn edit(&mut self, job: usize, setup: &Setup, all: bool) {
        let Some((number, reference, spec)) = self.jobs.get(job) else {
            return;
        };
        let (now, old) = (self.now, &reference.setup);
        let setup = if all { setup.clone() } else { setup.clone().on_schedule_of(old) };
        let edited = setup.spec(*number, now);
        let edited =
            if all { edited } else { JobSpec { schedule: spec.schedule.clone(), ..edited } };
        let begun = (edited.schedule != spec.schedule).then_some(now);
        let change = Change::Edit(Box::new(edited.clone()));
        let done = self
            .amend(job, change, |reference, quiet| reference.edit(now, quiet, (setup, begun)))
            .await;
        if done {
            self.jobs[job].2 = edited;
        }
    }

    /// Changes a job here and there; says whether it was accepted.
    async fn amend(
        &mut self,
        job: usize,
        change: Change,
        refer: impl FnOnce(&mut Reference, Option<&Quiet>) -> Result<(), Refused>,
    ) -> bool {
        let Some((number, reference, _)) = self.jobs.get_mut(job) else {
            return false;
        };
        let quiet = reference.setup.quiet.map(|quiet| &self.quiet[quiet]);
        let done = self.bench.amend_job(job_id(*number), change.clone(), None, self.now).await;
        let expected = refer(reference, quiet);
        assert_eq!(done.is_ok(), expected.is_ok(), "{change:?} at {}: {done:?}", self.now);
        done.is_ok()
    }

    /// A worker runs whatever waits.
    async fn run_all(&self) {
        let (now, worker) = (self.now, WorkerId::new("w1"));
        let terms = Terms { now, lease: Duration::from_secs(30) };
        loop {
            let claimed = self.bench.claim(&worker, terms, 10_000.into()).await.unwrap();
            let ends: Vec<Finish> = claimed
                .claims
                .iter()
                .map(|claim| Finish {
                    hold: claim.hold,
                    ending: Ending::Success,
                    report: chronos_core::execution::Report::at(now),
                })
                .collect();
            if ends.is_empty() {
                return;
            }
            for ended in self.bench.finish(ends, now).await.unwrap() {
                ended.unwrap();
            }
        }
    }

    async fn compare_standing(&self, step: usize, job: usize, reference: &Reference) {
        let standing = self.bench.job(job_id(job)).await.unwrap().standing;
        let at = format!("job {job} after step {step} at {}", self.now);
        let paused = standing.paused.as_ref().map(|pause| (pause.note.as_deref(), pause.resume_at));
        let expected = reference.paused.as_ref().map(|paused| (paused.note, paused.until));
        assert_eq!(paused, expected, "pause of {at}");
        assert_eq!(standing.enabled, reference.enabled, "whether it is on: {at}");
        assert_eq!(standing.deferred_until, reference.deferred, "deferral of {at}");
        assert_eq!(standing.last_slot, reference.last, "last slot of {at}");
        assert_eq!(standing.tally.fired, reference.fired, "slots fired of {at}");
        match reference.ahead.front() {
            Some(next) => assert_eq!(standing.next_slot, Some(*next), "next slot of {at}"),
            None if reference.enabled => {
                let beyond = standing.next_slot.is_some_and(|next| next > self.history.span.end);
                assert!(beyond, "next slot of {at}: {:?}", standing.next_slot);
            }
            None => assert_eq!(standing.next_slot, None, "next slot of {at}"),
        }
    }

    /// Every decision, execution and message must be there, and no other.
    async fn compare_records(&self) {
        let audit = self.bench.audit(0, ALL).await.unwrap();
        let said = self.bench.message_events(&EventFilter::default(), 0, ALL).await.unwrap().events;
        let keys: BTreeSet<_> = said.iter().map(|event| event.message.dedupe_key).collect();
        assert_eq!(keys.len(), said.len(), "no slot says anything twice");
        for (number, reference, _) in &self.jobs {
            let id = job_id(*number);
            let executions = self.bench.executions(id, None, ALL).await.unwrap();
            let of_job = || audit.iter().filter(|event| event.job == Some(id));
            let said = said.iter().filter(|event| event.message.job == id);
            let told = Told {
                audit: of_job().filter_map(decision).collect(),
                ended: of_job().filter_map(ended).collect(),
                executions: executions.iter().map(execution).collect(),
                messages: said.map(|event| event.message.text.as_deref().unwrap().into()).collect(),
            };
            assert_same(*number, told, reference.told.clone());
        }
    }
}

fn assert_same(job: usize, mut told: Told, mut expected: Told) {
    for list in [&mut told.ended, &mut expected.ended] {
        list.sort_unstable();
    }
    for list in [&mut told.executions, &mut expected.executions] {
        list.sort_unstable();
    }
    for (what, told, expected) in [
        ("decisions", &told.audit, &expected.audit),
        ("ends", &told.ended, &expected.ended),
        ("executions", &told.executions, &expected.executions),
        ("messages", &told.messages, &expected.messages),
    ] {
        let same = told.iter().zip(expected).take_while(|(one, other)| one == other).count();
        let rest = |list: &[String]| list.iter().skip(same).take(5).cloned().collect::<Vec<_>>();
        assert!(
            told == expected,
            "{what} of job {job} from number {same} on: the store says {:#?}, the reference {:#?}",
            rest(told),
            rest(expected),
        );
    }
}

/// A decision about a slot or the job, in the reference's words.
fn decision(event: &AuditEvent) -> Option<String> {
    let what = match &event.decision {
        Decision::Fired { slot, trigger, instead_of, .. } => {
            let trigger = match trigger {
                Trigger::Manual { number } => format!("manual {number}"),
                trigger => trigger.as_str().into(),
            };
            let stands =
                instead_of.map_or(String::new(), |of| format!(" instead of {}", range(&of)));
            format!("fired {slot} {trigger}{stands}")
        }
        Decision::Skipped { slots, reason } => format!("skipped {} {}", range(slots), why(reason)),
        Decision::Deferred { slot, until } => format!("deferred {slot} until {until}"),
        Decision::Created => "created".into(),
        Decision::Updated { version } => format!("updated {version}"),
        Decision::Paused { note, resume_at } => format!("paused {note:?} until {resume_at:?}"),
        Decision::Resumed { by_itself: true } => "resumed by itself".into(),
        Decision::Resumed { by_itself: false } => "resumed".into(),
        Decision::Enabled => "enabled".into(),
        Decision::Disabled => "disabled".into(),
        Decision::CancelRequested { cause, .. } => format!("asked to stop {cause:?}"),
        Decision::Ended { .. } => return None,
        other => format!("{other:?}"),
    };
    Some(format!("{} {what}", event.at))
}

fn ended(event: &AuditEvent) -> Option<String> {
    match &event.decision {
        Decision::Ended { slot, ending, next_attempt: None, .. } => {
            Some(format!("{} ended {slot} {ending:?}", event.at))
        }
        Decision::Ended { .. } => Some(format!("{event:?}")),
        _ => None,
    }
}

fn range(slots: &Slots) -> String {
    format!("{}..{} ({:?})", slots.first, slots.last, slots.count)
}

fn why(reason: &SkipReason) -> String {
    match reason {
        SkipReason::Paused(note) => format!("paused: {note:?}"),
        reason => reason.as_str().into(),
    }
}

fn execution(row: &Execution) -> String {
    let (slot, trigger, status) = (row.slot, row.trigger.as_str(), row.status());
    match &row.state {
        State::Skipped { reason, .. } => format!("{slot} {trigger} {status} {}", reason.as_str()),
        _ => format!("{slot} {trigger} {status}"),
    }
}
