//! Explaining: what happened at a slot of a job, or will, and why, in one sentence.
//!
//! Decided from records alone, and for what is still to come from the planner itself: whoever asks is told
//! what the scheduler would do, and not what somebody believes that it does.

mod past;

use std::time::Duration;

use crate::Timestamp;
use crate::audit::AuditEvent;
use crate::execution::Execution;
use crate::job::Job;
use crate::plan::{PreviewRun, preview_until};
use crate::policy::QuietHours;

/// Coming slots that are gone through to reach one.
const MOST: usize = 10_000;
/// An instant without a part of a second stands for all of that second: people do not type microseconds.
const SECOND: Duration = Duration::from_secs(1);

/// What is known when somebody asks.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The job.
    pub job: &'a Job,
    /// The quiet hours that it observes.
    pub quiet_hours: Option<&'a QuietHours>,
    /// The time that is asked about.
    pub at: Timestamp,
    /// The time now.
    pub now: Timestamp,
    /// What ran, runs, waits or was skipped for slots that are meant, oldest first.
    pub executions: &'a [Execution],
    /// What was decided about slots that are meant, oldest first.
    pub events: &'a [AuditEvent],
    /// Since when all that was decided is kept.
    pub kept_since: Timestamp,
    /// When the job was switched off, if it was at the time that is asked about.
    pub off_since: Option<Timestamp>,
}

/// What happened, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fired.
    Fired,
    /// It was passed over.
    Skipped,
    /// Nobody was there to fire it in time.
    Missed,
    /// It waits for the end of quiet hours.
    Deferred,
    /// It is due, and about to be planned.
    Due,
    /// It is still to come.
    Upcoming,
    /// It will be passed over.
    WillBeSkipped,
    /// The job has no slots at that time.
    Off,
    /// The schedule names no such time.
    NoSlot,
    /// What is known of it is no longer kept.
    NotKept,
    /// It is a slot by today's schedule, and nothing is known of it.
    NoRecord,
}

impl Verdict {
    /// The verdict as it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
            Self::Deferred => "deferred",
            Self::Due => "due",
            Self::Upcoming => "upcoming",
            Self::WillBeSkipped => "will_be_skipped",
            Self::Off => "off",
            Self::NoSlot => "no_slot",
            Self::NotKept => "not_kept",
            Self::NoRecord => "no_record",
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The slot that is meant, if there is one.
    pub slot: Option<Timestamp>,
    /// What happened, in a word.
    pub verdict: Verdict,
    /// What happened and why, in a sentence.
    pub sentence: String,
    /// The slots nearest to the time that is asked about, before and after it.
    pub nearest: (Option<Timestamp>, Option<Timestamp>),
    /// The coming run, if it is still to come.
    pub coming: Option<PreviewRun>,
}

/// The times that are meant by one: itself, or all of its second if it has no part of one.
#[must_use]
pub fn meant(at: Timestamp) -> (Timestamp, Timestamp) {
    let whole = at.as_micros().rem_euclid(1_000_000) == 0;
    (at, at.after(if whole { SECOND } else { Duration::from_micros(1) }))
}

/// Says what happened at a time, or will, and why.
#[must_use]
pub fn explain(question: &Question<'_>) -> Explanation {
    let told = past::execution(question).or_else(|| past::decision(question));
    let (slot, verdict, sentence, coming) = match told {
        Some((slot, verdict, sentence)) => (Some(slot), verdict, sentence, None),
        None => question.without_records(),
    };
    Explanation { slot, verdict, sentence, nearest: question.nearest(), coming }
}

type Answer = (Option<Timestamp>, Verdict, String, Option<PreviewRun>);

impl Question<'_> {
    /// The slot that today's schedule has at that time.
    fn slot(&self) -> Option<Timestamp> {
        let standing = &self.job.standing;
        let (from, to) = meant(self.at);
        let is_meant = |slot: &Timestamp| (from..to).contains(slot);
        if self.job.spec.schedule.counts_from_end() {
            return standing.next_slot.filter(is_meant);
        }
        let just_before = from.before(Duration::from_micros(1));
        self.job.spec.schedule.next_after(just_before).filter(is_meant)
    }

    /// The slots of today's schedule before and after that time, since the job was made.
    fn nearest(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let (schedule, made) = (&self.job.spec.schedule, self.job.spec.created_at);
        let (from, to) = meant(self.at);
        if schedule.counts_from_end() {
            let standing = &self.job.standing;
            let before = standing.last_slot.filter(|slot| *slot < from);
            return (before, standing.next_slot.filter(|slot| *slot >= to));
        }
        let just_before = from.before(Duration::from_micros(1));
        let before = (made < just_before).then(|| schedule.latest_until(just_before, made));
        let before = before.filter(|slot| *slot > made);
        (before, schedule.next_after(to.before(Duration::from_micros(1)).max(made)))
    }

    /// What can be said of a time of which there is no record.
    fn without_records(&self) -> Answer {
        let (job, standing) = (self.job, &self.job.standing);
        let Some(slot) = self.slot() else {
            return (None, Verdict::NoSlot, self.no_slot(), None);
        };
        let answer = |verdict, sentence| (Some(slot), verdict, sentence, None);
        if slot <= job.spec.created_at {
            let sentence = format!("the job was made at {}, after {slot}", job.spec.created_at);
            return answer(Verdict::NoSlot, sentence);
        }
        if let Some(until) = standing.deferred_until.filter(|_| standing.next_slot == Some(slot)) {
            let sentence = format!("quiet hours hold the slot at {slot} back until {until}");
            return answer(Verdict::Deferred, sentence);
        }
        if let Some(since) = self.off_since {
            let sentence = format!("the job was switched off at {since}, so {slot} did not fire");
            return answer(Verdict::Off, sentence);
        }
        let next = standing.next_slot.filter(|_| standing.enabled);
        if next.is_some_and(|next| next <= slot) {
            return self.coming(slot);
        }
        if slot > self.now {
            return answer(Verdict::Off, self.over(slot));
        }
        if slot < self.kept_since {
            let sentence = format!("records before {} are no longer kept", self.kept_since);
            return answer(Verdict::NotKept, sentence);
        }
        let sentence = format!(
            "nothing is recorded about {slot}: it is a slot of today's schedule, and was none of the one that \
             the job had then"
        );
        answer(Verdict::NoRecord, sentence)
    }

    /// Why a job has no more slots.
    fn over(&self, slot: Timestamp) -> String {
        let Job { spec, standing } = self.job;
        let most = spec.schedule.max_runs().filter(|most| standing.tally.fired >= most.get());
        match most {
            Some(most) => {
                format!("the job has run as often as it may ({most} times), so {slot} will not run")
            }
            None => format!("the job is switched off or over, so {slot} will not run"),
        }
    }

    fn no_slot(&self) -> String {
        let words = |slot: Option<Timestamp>| slot.map_or("none".into(), |slot| slot.to_string());
        let (before, after) = self.nearest();
        let schedule = &self.job.spec.schedule;
        let at = self.at;
        if let Some(end) = schedule.end_at().filter(|end| at > *end) {
            return format!(
                "the schedule has no slot at {at}: it ended at {end}; the last was {}",
                words(before)
            );
        }
        if let Some(start) = schedule.start_at().filter(|start| at < *start) {
            return format!(
                "the schedule has no slot at {at}: it begins at {start}; the first is {}",
                words(after)
            );
        }
        if schedule.counts_from_end() {
            return format!(
                "no slot at {at} is known: each is counted from the end of the run before it; nearest before and \
                 after are {} and {}",
                words(before),
                words(after)
            );
        }
        format!(
            "the schedule has no slot at {at}; nearest before and after are {} and {}",
            words(before),
            words(after)
        )
    }

    /// What will become of a slot that is not accounted for yet.
    fn coming(&self, slot: Timestamp) -> Answer {
        if let Some(pause) = &self.job.standing.paused
            && pause.resume_at.is_none_or(|end| end > slot)
        {
            let note = pause.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            let until = pause.resume_at.map(|end| format!(" until {end}"));
            let until = until.unwrap_or_else(|| ", unless somebody resumes it before".into());
            let sentence = format!(
                "{slot} will be skipped: the job is paused since {}{until}{note}",
                pause.since
            );
            return (Some(slot), Verdict::WillBeSkipped, sentence, None);
        }
        if slot <= self.now {
            let sentence = format!("{slot} is due and about to be planned");
            return (Some(slot), Verdict::Due, sentence, None);
        }
        let end = slot.after(Duration::from_micros(1));
        let (runs, all) = preview_until(self.job, self.quiet_hours, end, MOST);
        let coming = runs.into_iter().find(|run| run.nominal == slot);
        let Some(run) = coming else {
            let sentence = if all {
                self.over(slot)
            } else {
                format!("{slot} is a slot of the schedule, too far ahead to say more about it")
            };
            let verdict = if all { Verdict::Off } else { Verdict::Upcoming };
            return (Some(slot), verdict, sentence, None);
        };
        let mut why = vec![self.job.spec.schedule.describe()];
        why.extend(run.reasons.iter().map(ToString::to_string));
        let why = why.join("; ");
        let (verdict, sentence) = match run.effective {
            Some(at) if at == slot => (
                Verdict::Upcoming,
                format!("{slot} will run on time, because of its schedule: {why}"),
            ),
            Some(at) => (
                Verdict::Upcoming,
                format!("{slot} will run at {at}, because of its schedule: {why}"),
            ),
            None => (Verdict::WillBeSkipped, format!("{slot} will be skipped: {why}")),
        };
        (Some(slot), verdict, sentence, Some(run))
    }
}

#[cfg(test)]
mod tests;
