//! The reference: what must become of a job, written down from the rules, one slot at a time.
//!
//! It knows the whole list of slots ahead of it and takes them off the front. It shares nothing with the planner:
//! no search, no arithmetic on ranges, no bounds but the one on rows that users are promised.

use std::collections::VecDeque;

use chronos_core::Timestamp;

use super::setup::{Beat, CatchUp, Overlap, Quiet, Setup, Span};
use super::slots::{SECOND, quiet_until, slots};

/// Slots that one look passes over one by one; what lies beyond is one row for all of them.
const ROWS: usize = 1_000;

/// What must have become of a job.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) setup: Setup,
    pub(super) span: Span,
    /// When its schedule began.
    pub(super) begun: Timestamp,
    /// The slots that are not accounted for, oldest first.
    pub(super) ahead: VecDeque<Timestamp>,
    pub(super) enabled: bool,
    pub(super) paused: Option<Paused>,
    pub(super) deferred: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    pub(super) fired: u64,
    pub(super) manual: u64,
    pub(super) version: u64,
    pub(super) told: Told,
}

/// Why and until when it is paused.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Paused {
    pub(super) note: Option<&'static str>,
    pub(super) until: Option<Timestamp>,
}

/// What must be on record, in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Decisions about slots and about the job, in their order.
    pub(super) audit: Vec<String>,
    /// Ends of runs, in any order.
    pub(super) ended: Vec<String>,
    /// Executions, in any order.
    pub(super) executions: Vec<String>,
    /// What was said, in its order.
    pub(super) messages: Vec<String>,
}

/// One look at what is due.
pub(super) struct Look<'a> {
    now: Timestamp,
    quiet: Option<&'a Quiet>,
    rows: usize,
    /// Runs that have begun in it, and those that wait behind them.
    active: u32,
    held: u32,
    /// The slots that were queued in it, by their triggers.
    queued: Vec<(Timestamp, &'static str)>,
}

impl<'a> Look<'a> {
    pub(super) fn at(now: Timestamp, quiet: Option<&'a Quiet>) -> Self {
        Self { now, quiet, rows: 0, active: 0, held: 0, queued: Vec::new() }
    }
}

impl Reference {
    /// A job that is made now; nothing if it would never fire.
    pub(super) fn new(setup: Setup, span: Span, now: Timestamp) -> Option<Self> {
        let ahead = VecDeque::from(slots(&setup, now, now, span));
        let told = Told { audit: vec![format!("{now} created")], ..Told::default() };
        let (paused, deferred, last, fired, manual, version) = (None, None, None, 0, 0, 1);
        let made = Self {
            setup,
            span,
            begun: now,
            ahead,
            enabled: true,
            paused,
            deferred,
            last,
            fired,
            manual,
            version,
            told,
        };
        (!made.is_over()).then_some(made)
    }

    /// Whether it can be foretold that no slot follows.
    pub(super) fn is_over(&self) -> bool {
        let ends = self.setup.end(self.begun).is_some();
        let ends = ends || matches!(self.setup.beat, Beat::Once(_) | Beat::AfterEnd(_));
        ends && self.ahead.is_empty()
    }

    /// Somebody looks at what is due, until nothing is.
    pub(super) fn fire(&mut self, now: Timestamp, quiet: Option<&Quiet>) {
        let queued = self.look(now, quiet);
        self.run(now, queued);
    }

    /// A worker runs all that was queued.
    pub(super) fn run(&mut self, now: Timestamp, queued: Vec<(Timestamp, &'static str)>) {
        for (slot, trigger) in queued {
            self.succeed(now, slot, trigger);
        }
    }

    pub(super) fn succeed(&mut self, now: Timestamp, slot: Timestamp, trigger: &str) {
        self.told.ended.push(format!("{now} ended {slot} Success"));
        self.told.executions.push(format!("{slot} {trigger} SUCCESS"));
    }

    /// Accounts for what is due; gives back what was queued.
    pub(super) fn look(
        &mut self,
        now: Timestamp,
        quiet: Option<&Quiet>,
    ) -> Vec<(Timestamp, &'static str)> {
        let mut look = Look::at(now, quiet);
        let once = matches!(self.setup.beat, Beat::Once(_));
        if let Some(paused) = self.paused.clone() {
            let Some(end) = paused.until.filter(|end| *end <= now) else {
                // A one-time job waits for the end of its pause; any other has its slots passed over.
                if !once && self.is_due(now) {
                    self.pass_over(&mut look, now, &reason_of(&paused));
                    self.end_if_over();
                }
                return look.queued;
            };
            if !once {
                let before = Timestamp::from_micros(end.as_micros() - 1);
                self.pass_over(&mut look, before.min(now), &reason_of(&paused));
                self.end_if_over();
            }
            self.paused = None;
            self.decide(now, "resumed by itself");
            look = Look::at(now, quiet);
        }
        if self.is_due(now) {
            self.account(&mut look);
            self.end_if_over();
        }
        look.queued
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let next = self.ahead.front().is_some_and(|next| *next <= now);
        self.enabled && next && self.deferred.is_none_or(|until| until <= now)
    }

    pub(super) fn end_if_over(&mut self) {
        if self.enabled && self.is_over() {
            self.enabled = false;
        }
    }

    /// Accounts for what is due of a job that is not paused.
    fn account(&mut self, look: &mut Look<'_>) {
        let now = look.now;
        let once = matches!(self.setup.beat, Beat::Once(_));
        if let Some((quiet, until)) =
            look.quiet.and_then(|quiet| Some((quiet, quiet_until(quiet, now)?)))
        {
            if quiet.defers || once {
                let slot = self.ahead[0];
                self.deferred = Some(until);
                self.decide(now, &format!("deferred {slot} until {until}"));
            } else {
                self.pass_over(look, now, "quiet_hours");
            }
            return;
        }
        if let Some(until) = self.deferred.take() {
            self.fire_first(look, "schedule", None);
            let before = Timestamp::from_micros(until.as_micros() - 1);
            self.pass_over(look, before.min(now), "quiet_hours");
        }
        self.catch_up(look);
        while self.next_until(now).is_some() {
            self.fire_first(look, "schedule", None);
        }
    }

    /// The next slot, if it is not after an instant.
    fn next_until(&self, until: Timestamp) -> Option<Timestamp> {
        self.ahead.front().copied().filter(|slot| *slot <= until)
    }

    fn catch_up(&mut self, look: &mut Look<'_>) {
        let now = look.now;
        let older_than =
            |seconds: i64| Timestamp::from_micros(now.as_micros() - seconds * SECOND - 1);
        let missed = older_than(self.setup.grace);
        if let Some(window) = self.setup.window {
            // Nothing that is on time is too old to be caught up.
            self.pass_over(look, older_than(window).min(missed), "missed");
        }
        match self.setup.catch_up {
            CatchUp::Skip => {}
            CatchUp::All(most) => {
                for _ in 0..most {
                    if self.next_until(missed).is_some() {
                        self.fire_first(look, "catch_up", None);
                    }
                }
            }
            CatchUp::Once => {
                let all: Vec<_> =
                    self.ahead.iter().copied().filter(|slot| *slot <= missed).collect();
                if let (Some(first), Some(last)) = (all.first(), all.last()) {
                    let range = (*first, *last, all.len());
                    self.ahead.drain(..all.len());
                    if self.next_until(now).is_some() {
                        self.fire_first(look, "schedule", Some(range));
                    } else {
                        self.ahead.push_front(*last);
                        self.fire_first(look, "catch_up", Some(range).filter(|_| all.len() > 1));
                    }
                }
            }
        }
        self.pass_over(look, missed, "missed");
    }

    /// Takes the next slot off the list.
    fn take(&mut self, now: Timestamp) -> Timestamp {
        let slot = self.ahead.pop_front().unwrap();
        (self.last, self.deferred) = (Some(slot), None);
        if let Beat::AfterEnd(seconds) = self.setup.beat {
            let from = slot.max(now).as_micros();
            self.ahead.push_back(Timestamp::from_micros(from + i64::from(seconds) * SECOND));
        }
        slot
    }

    /// Fires the next slot, unless it overlaps.
    fn fire_first(
        &mut self,
        look: &mut Look<'_>,
        trigger: &'static str,
        instead_of: Option<(Timestamp, Timestamp, usize)>,
    ) {
        let now = look.now;
        let slot = self.take(now);
        let range = instead_of.map(|(first, last, count)| self.range(first, last, count));
        if !self.admits(look, trigger) {
            if let Some(range) = range {
                self.decide(now, &format!("skipped {range} missed"));
            }
            if instead_of.is_none_or(|(first, last, _)| slot < first || slot > last) {
                look.rows += 1;
                self.skip_one(now, slot, "overlap");
            }
            return;
        }
        look.rows += 1;
        let stands = range.map_or(String::new(), |range| format!(" instead of {range}"));
        self.decide(now, &format!("fired {slot} {trigger}{stands}"));
        if self.setup.says {
            let missed = match instead_of {
                // Slots on the wall are not counted without end.
                Some((.., count)) if self.counts_exactly() => count,
                Some((.., count)) => count.min(ROWS),
                None => usize::from(trigger == "catch_up"),
            };
            self.say(now, slot, trigger, missed);
        } else {
            look.queued.push((slot, trigger));
        }
        self.fired += 1;
        if self.setup.max_runs.is_some_and(|most| self.setup.is_recurring() && self.fired >= most) {
            self.ahead.clear();
            self.enabled = false;
        }
    }

    pub(super) fn say(&mut self, now: Timestamp, slot: Timestamp, trigger: &str, missed: usize) {
        self.told.messages.push(format!("{slot} at {now}, missed {missed}"));
        self.succeed(now, slot, trigger);
    }

    /// Whether one more run is let in; messages always are.
    fn admits(&self, look: &mut Look<'_>, trigger: &str) -> bool {
        if self.setup.says || self.setup.overlap == Overlap::Concurrent || look.active == 0 {
            look.active += 1;
            return true;
        }
        let most_caught_up = match self.setup.catch_up {
            CatchUp::Skip => 0,
            CatchUp::Once => 1,
            CatchUp::All(most) => most,
        };
        let behind = trigger == "catch_up" && look.held < most_caught_up
            || matches!(self.setup.overlap, Overlap::Queue(most) if look.held < most);
        look.held += u32::from(behind);
        behind
    }

    /// Passes over every slot up to an instant.
    pub(super) fn pass_over(&mut self, look: &mut Look<'_>, until: Timestamp, reason: &str) {
        while self.next_until(until).is_some() {
            if look.rows < ROWS {
                look.rows += 1;
                let slot = self.take(look.now);
                self.skip_one(look.now, slot, reason);
                continue;
            }
            let mut all = Vec::new();
            while self.next_until(until).is_some() {
                all.push(self.take(look.now));
            }
            let range = self.range(all[0], all[all.len() - 1], all.len());
            self.decide(look.now, &format!("skipped {range} {reason}"));
        }
    }

    fn skip_one(&mut self, now: Timestamp, slot: Timestamp, reason: &str) {
        let range = self.range(slot, slot, 1);
        self.decide(now, &format!("skipped {range} {reason}"));
        let reason = reason.split(':').next().unwrap();
        self.told.executions.push(format!("{slot} schedule SKIPPED {reason}"));
    }

    fn counts_exactly(&self) -> bool {
        !matches!(self.setup.beat, Beat::Cron(..))
    }

    /// A range in words; slots on the wall are not counted, unless it is one.
    pub(super) fn range(&self, first: Timestamp, last: Timestamp, count: usize) -> String {
        let count = Some(count as u64).filter(|_| self.counts_exactly() || first == last);
        format!("{first}..{last} ({count:?})")
    }

    pub(super) fn decide(&mut self, now: Timestamp, what: &str) {
        self.told.audit.push(format!("{now} {what}"));
    }
}

pub(super) fn reason_of(paused: &Paused) -> String {
    format!("paused: {:?}", paused.note)
}
