//! The herd: how many runs begin in each second to come, so that a rush is seen before it happens.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::job::Job;
use crate::policy::QuietHours;
use crate::policy::quiet_hours::Mode;
use crate::schedule::{Cadence, Schedule, Zone};
use crate::{PolicyId, Timestamp};

/// The slots of jobs in a stretch of time: counted as their schedules name them, and as quiet hours move and
/// jitter spreads their runs.
///
/// Jobs that come at the same times are counted together, so that a million of them are few. What jitter does is
/// told as it is on average.
#[derive(Clone, Debug)]
pub struct Herd {
    from: Timestamp,
    nominal: Vec<u64>,
    /// By how much the runs a second differ from those of the second before.
    spread: Vec<f64>,
    crowds: HashMap<Rhythm, u64>,
    jobs: u64,
    /// Slots that may still be gone through one by one.
    patience: u64,
}

/// What makes jobs come at the same times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rhythm {
    beat: Beat,
    /// The first slot of each; of an interval in whole seconds.
    first: Timestamp,
    quiet_hours: Option<PolicyId>,
    jitter: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Beat {
    Cron(Box<str>, Zone),
    Interval(Duration),
}

/// Jobs that come together.
struct Crowd<'a> {
    jobs: u64,
    /// The most slots that each of them has.
    slots: u64,
    jitter: Duration,
    quiet_hours: Option<&'a QuietHours>,
}

/// The runs of some seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rush {
    /// Slots that schedules name in them.
    pub nominal: u64,
    /// The most of them in one second.
    pub nominal_peak: u64,
    /// Runs that begin in them, on average.
    pub spread: f64,
    /// The most of them in one second.
    pub spread_peak: f64,
}

impl Herd {
    /// Nobody yet, in so many seconds from an instant on. It goes through `patience` slots and no more.
    #[must_use]
    pub fn new(from: Timestamp, seconds: usize, patience: u64) -> Self {
        Self {
            from,
            nominal: vec![0; seconds],
            spread: vec![0.0; seconds + 1],
            crowds: HashMap::new(),
            jobs: 0,
            patience,
        }
    }

    /// Jobs that were added, those that never fire included.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// Adds a job. One that is paused comes again when it resumes by itself, if it does.
    pub fn add(&mut self, job: &Job, quiet_hours: Option<&QuietHours>) {
        self.jobs += 1;
        let standing = &job.standing;
        let resumes = match &standing.paused {
            Some(pause) => pause.resume_at,
            None => Some(self.from),
        };
        let (Some(first), Some(resumes), true) = (standing.next_slot, resumes, standing.enabled)
        else {
            return;
        };
        let first = if first < resumes { resumed(job, first, resumes) } else { Some(first) };
        let Some(first) = first.filter(|first| *first < self.end()) else {
            return;
        };
        if let Some(rhythm) = self.rhythm(job, first) {
            *self.crowds.entry(rhythm).or_default() += 1;
        } else {
            let most = job.spec.schedule.max_runs().map_or(u64::MAX, NonZeroU64::get);
            let slots = most.saturating_sub(standing.tally.fired);
            let crowd = Crowd { jobs: 1, slots, jitter: job.spec.jitter, quiet_hours };
            self.walk(&job.spec.schedule, first, &crowd);
        }
    }

    /// Counts those that come together. Says whether it had the patience for all of them.
    pub fn gather<'a>(&mut self, quiet_hours: impl Fn(PolicyId) -> Option<&'a QuietHours>) -> bool {
        for (rhythm, jobs) in std::mem::take(&mut self.crowds) {
            let quiet = rhythm.quiet_hours.and_then(&quiet_hours);
            let first = rhythm.first;
            let schedule = match &rhythm.beat {
                Beat::Cron(expression, zone) => Schedule::cron(expression, *zone),
                Beat::Interval(every) => Schedule::interval(*every, first.before(*every)),
            };
            // It was a schedule when it was taken apart.
            let Ok(schedule) = schedule else { continue };
            let (slots, jitter) = (u64::MAX, rhythm.jitter);
            self.walk(&schedule, first, &Crowd { jobs, slots, jitter, quiet_hours: quiet });
        }
        self.patience > 0
    }

    /// The seconds in bins of so many.
    #[must_use]
    pub fn bins(&self, seconds: usize) -> Vec<Rush> {
        let mut bins = vec![Rush::default(); self.nominal.len().div_ceil(seconds.max(1))];
        let mut level: f64 = 0.0;
        for (place, (nominal, change)) in self.nominal.iter().zip(&self.spread).enumerate() {
            level += change;
            // What was added and taken away again leaves crumbs.
            level = if level < 1e-9 { 0.0 } else { level };
            let bin = &mut bins[place / seconds.max(1)];
            bin.nominal += nominal;
            bin.nominal_peak = bin.nominal_peak.max(*nominal);
            bin.spread += level;
            bin.spread_peak = bin.spread_peak.max(level);
        }
        bins
    }

    /// The second that most slots are in, and how many.
    #[must_use]
    pub fn busiest(&self) -> Option<(Timestamp, u64)> {
        let most = self.nominal.iter().copied().max().filter(|most| *most > 0)?;
        let place = self.nominal.iter().position(|slots| *slots == most)?;
        Some((self.from.after(Duration::from_secs(place as u64)), most))
    }

    fn end(&self) -> Timestamp {
        self.from.after(Duration::from_secs(self.nominal.len() as u64))
    }

    /// What the job has in common with others, unless it comes in its own way.
    fn rhythm(&self, job: &Job, first: Timestamp) -> Option<Rhythm> {
        let spec = &job.spec;
        let schedule = &spec.schedule;
        let bounded = schedule.max_runs().is_some()
            || schedule.end_at().is_some_and(|end| end < self.end())
            || schedule.start_at().is_some_and(|start| start > self.from)
            || job.standing.paused.is_some();
        if bounded {
            return None;
        }
        let (beat, first) = match schedule.cadence() {
            Cadence::Cron(cron) => (Beat::Cron(cron.expression().into(), cron.zone()), first),
            Cadence::Interval(interval) => {
                let into = Duration::from_secs(first.since(self.from).as_secs());
                (Beat::Interval(interval.every()), self.from.after(into))
            }
            Cadence::OneShot(_) => return None,
        };
        Some(Rhythm { beat, first, quiet_hours: spec.quiet_hours, jitter: spec.jitter })
    }

    /// Goes through the slots of those that come together.
    fn walk(&mut self, schedule: &Schedule, first: Timestamp, crowd: &Crowd<'_>) {
        let Crowd { jobs, slots: mut left, jitter, quiet_hours } = *crowd;
        let mut slot = Some(first);
        // Slots before this time are held back by a quiet that was counted already.
        let mut quiet_until = Timestamp::MIN;
        while let Some(at) = slot.filter(|at| *at < self.end() && left > 0) {
            let Some(patience) = self.patience.checked_sub(1) else { return };
            self.patience = patience;
            left -= 1;
            let next = schedule.next_after(at);
            if let Some(nominal) = self.place(at).and_then(|place| self.nominal.get_mut(place)) {
                *nominal += jobs;
            }
            match quiet_hours.and_then(|quiet| Some((quiet, quiet.until(at)?))) {
                None => self.spread(at, next, jitter, jobs),
                Some((quiet, until)) => {
                    let defers = quiet.mode == Mode::Defer || schedule.is_one_shot();
                    if defers && at >= quiet_until {
                        self.spread(until, next.filter(|next| *next > until), jitter, jobs);
                    }
                    quiet_until = until;
                }
            }
            slot = next;
        }
    }

    /// Runs that begin somewhere between this instant and the end of the jitter.
    fn spread(&mut self, at: Timestamp, next: Option<Timestamp>, jitter: Duration, jobs: u64) {
        let Some(begin) = self.place(at) else { return };
        let gap = next.map_or(Duration::MAX, |next| next.since(at));
        let window = jitter.min(gap).as_millis().div_ceil(1_000).max(1);
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let share = jobs as f64 / window as f64;
        let end = begin.saturating_add(window).min(self.nominal.len());
        self.spread[begin] += share;
        self.spread[end] -= share;
    }

    fn place(&self, at: Timestamp) -> Option<usize> {
        let place = usize::try_from(at.since(self.from).as_secs()).ok()?;
        (at >= self.from && place < self.nominal.len()).then_some(place)
    }
}

/// The first slot of a job whose next one is past, or comes while it is paused.
fn resumed(job: &Job, first: Timestamp, resumes: Timestamp) -> Option<Timestamp> {
    if job.standing.paused.is_none() || job.spec.schedule.is_one_shot() {
        // What is late begins at once.
        return Some(first.max(resumes));
    }
    job.spec.schedule.next_after(resumes.before(Duration::from_micros(1)))
}
