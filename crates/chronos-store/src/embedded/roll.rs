//! The roll: what lists ask about every job, in memory, so that a page never reads a job in vain.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::job::Status;
use chronos_core::store::JobFilter;
use chronos_core::{Execution, Job, JobId, JobSpec, PolicyId, Standing, Timestamp};
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// Sets of jobs by their status at rest and whether they recur.
const SHELVES: usize = 8;

/// The jobs, and sets of them from which rare ones are found.
#[derive(Debug, Default)]
pub(super) struct Roll {
    cards: BTreeMap<JobId, Card>,
    shelves: [BTreeSet<JobId>; SHELVES],
    tagged: FxHashMap<Box<str>, BTreeSet<JobId>>,
    /// The jobs that observe each quiet-hours policy.
    observers: FxHashMap<PolicyId, BTreeSet<JobId>>,
    owners: FxHashMap<Box<str>, u32>,
    /// How many jobs each owner has, by its number.
    owned: Vec<u64>,
    paused: BTreeSet<JobId>,
    /// Jobs that are not due at their next slot: deferred, or parked.
    off_due: BTreeSet<JobId>,
}

/// What is known of a job.
#[derive(Debug)]
pub(super) struct Card {
    name: Box<str>,
    /// The next slot, as it was when the job's records were last closed.
    next: Option<Timestamp>,
    owner: u32,
    shelf: Shelf,
}

impl Card {
    /// The next slot, unless the job's records are open: then they know.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// The status that the job has at rest.
    pub(super) fn rest(&self) -> Status {
        self.shelf.rest()
    }
}

/// How a job is down on the roll, beside what its spec says and its next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    shelf: Shelf,
    paused: bool,
    /// Whether it is not due at its next slot.
    off_due: bool,
}

impl Mark {
    /// How a job is to be down that is due then.
    pub(super) fn of(job: &Job, due: Option<Timestamp>) -> Self {
        Self::at(!job.spec.schedule.is_one_shot(), &job.standing, due)
    }

    fn at(recurring: bool, standing: &Standing, due: Option<Timestamp>) -> Self {
        Self {
            shelf: Shelf::of(Status::at_rest(!recurring, standing), recurring),
            paused: standing.paused.is_some(),
            off_due: standing.next_slot.is_some() && standing.next_slot != due,
        }
    }
}

/// The status of a job at rest, and whether it recurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shelf(u8);

impl Shelf {
    fn of(rest: Status, recurring: bool) -> Self {
        let rest = match rest {
            Status::Pending | Status::Running | Status::RetryPending => 0,
            Status::Success => 1,
            Status::Failed => 2,
            Status::Disabled => 3,
        };
        Self(rest * 2 + u8::from(recurring))
    }

    fn rest(self) -> Status {
        [Status::Pending, Status::Success, Status::Failed, Status::Disabled]
            [usize::from(self.0 / 2)]
    }

    fn recurring(self) -> bool {
        self.0 % 2 == 1
    }
}

/// The beginning of a spec's record, which is all that the roll wants of it.
#[derive(Debug, Deserialize)]
pub(super) struct SpecHead<'a> {
    pub(super) id: JobId,
    owner: &'a str,
    name: &'a str,
    #[serde(borrow)]
    tags: Vec<&'a str>,
    quiet_hours: Option<PolicyId>,
    /// The number of the schedule's cadence, as it is encoded.
    cadence: u32,
}

impl SpecHead<'_> {
    const ONE_SHOT: u32 = 2;

    fn recurring(&self) -> bool {
        self.cadence != Self::ONE_SHOT
    }
}

impl Roll {
    /// A card for a job that is not on the roll yet, as far as its spec goes.
    pub(super) fn draw(&mut self, head: &SpecHead<'_>) -> Card {
        for tag in &head.tags {
            self.tagged.entry((*tag).into()).or_default().insert(head.id);
        }
        self.observe(head.id, head.quiet_hours);
        let owner = self.number_of(head.owner);
        let place = Shelf::of(Status::Pending, head.recurring());
        Card { name: head.name.into(), next: None, owner, shelf: place }
    }

    /// Puts cards on the empty roll, in the order of their ids: faster than one by one.
    pub(super) fn fill(&mut self, cards: Vec<(JobId, Card)>) {
        for (number, shelf) in self.shelves.iter_mut().enumerate() {
            let on_shelf = cards.iter().filter(|(_, card)| usize::from(card.shelf.0) == number);
            *shelf = on_shelf.map(|(job, _)| *job).collect();
        }
        for (_, card) in &cards {
            self.owned[card.owner as usize] += 1;
        }
        self.cards = cards.into_iter().collect();
    }

    /// Adds a job.
    pub(super) fn put(&mut self, job: &Job, due: Option<Timestamp>) {
        let JobSpec { id, owner, name, tags, quiet_hours, .. } = job.spec.as_ref();
        for tag in tags {
            self.tagged.entry(tag.clone()).or_default().insert(*id);
        }
        self.observe(*id, *quiet_hours);
        let mark = Mark::of(job, due);
        self.shelves[usize::from(mark.shelf.0)].insert(*id);
        let (next, owner) = (job.standing.next_slot, self.number_of(owner));
        self.owned[owner as usize] += 1;
        self.cards.insert(*id, Card { name: name.clone(), next, owner, shelf: mark.shelf });
        self.note(*id, mark);
    }

    /// Says where the job of a drawn card stands.
    pub(super) fn place(
        &mut self,
        job: JobId,
        card: &mut Card,
        standing: &Standing,
        due: Option<Timestamp>,
    ) {
        card.next = standing.next_slot;
        let mark = Mark::at(card.shelf.recurring(), standing, due);
        card.shelf = mark.shelf;
        self.note(job, mark);
    }

    /// Follows a job that moved on, but was not edited.
    pub(super) fn mark(&mut self, job: JobId, mark: Mark) {
        let Some(card) = self.cards.get_mut(&job) else {
            return;
        };
        let before = std::mem::replace(&mut card.shelf, mark.shelf);
        if before != mark.shelf {
            self.shelves[usize::from(before.0)].remove(&job);
            self.shelves[usize::from(mark.shelf.0)].insert(job);
        }
        self.note(job, mark);
    }

    /// Notes the next slot of a job whose records are closed.
    pub(super) fn note_next(&mut self, job: &Job) {
        if let Some(card) = self.cards.get_mut(&job.spec.id) {
            card.next = job.standing.next_slot;
        }
    }

    /// Remembers what few jobs are: paused, or due at another time than their slot.
    fn note(&mut self, job: JobId, mark: Mark) {
        set(&mut self.paused, job, mark.paused);
        set(&mut self.off_due, job, mark.off_due);
    }

    /// Takes a job off, which had this spec.
    pub(super) fn remove(&mut self, spec: &JobSpec) {
        let job = spec.id;
        if let Some(card) = self.cards.remove(&job) {
            self.shelves[usize::from(card.shelf.0)].remove(&job);
            self.owned[card.owner as usize] -= 1;
        }
        for tag in &spec.tags {
            if let Some(jobs) = self.tagged.get_mut(tag) {
                jobs.remove(&job);
                if jobs.is_empty() {
                    self.tagged.remove(tag);
                }
            }
        }
        if let Some(policy) = spec.quiet_hours
            && let Some(jobs) = self.observers.get_mut(&policy)
        {
            jobs.remove(&job);
            if jobs.is_empty() {
                self.observers.remove(&policy);
            }
        }
        self.paused.remove(&job);
        self.off_due.remove(&job);
    }

    fn observe(&mut self, job: JobId, policy: Option<PolicyId>) {
        if let Some(policy) = policy {
            self.observers.entry(policy).or_default().insert(job);
        }
    }

    /// The jobs that observe a policy, if any does.
    pub(super) fn observers(&self, policy: PolicyId) -> Option<&BTreeSet<JobId>> {
        self.observers.get(&policy)
    }

    pub(super) fn cards(&self) -> &BTreeMap<JobId, Card> {
        &self.cards
    }

    pub(super) fn card(&self, job: JobId) -> Option<&Card> {
        self.cards.get(&job)
    }

    pub(super) fn paused(&self) -> &BTreeSet<JobId> {
        &self.paused
    }

    pub(super) fn off_due(&self) -> &BTreeSet<JobId> {
        &self.off_due
    }

    /// The jobs that have this tag, if any has.
    pub(super) fn tagged(&self, tag: &str) -> Option<&BTreeSet<JobId>> {
        self.tagged.get(tag)
    }

    /// The sets of jobs that have one of these statuses at rest, and recur or not.
    pub(super) fn shelves(
        &self,
        rest: Option<Status>,
        recurring: Option<bool>,
    ) -> Vec<&BTreeSet<JobId>> {
        let wanted = |shelf: Shelf| {
            rest.is_none_or(|rest| rest == shelf.rest())
                && recurring.is_none_or(|recurring| recurring == shelf.recurring())
        };
        let shelves = (0..).map(Shelf).zip(&self.shelves);
        shelves.filter(|(shelf, _)| wanted(*shelf)).map(|(_, jobs)| jobs).collect()
    }

    /// The number that stands for an owner.
    fn number_of(&mut self, owner: &str) -> u32 {
        if let Some(number) = self.owners.get(owner) {
            return *number;
        }
        let number = u32::try_from(self.owners.len()).unwrap_or(u32::MAX);
        self.owners.insert(owner.into(), number);
        self.owned.push(0);
        number
    }

    /// How many jobs the owner has.
    pub(super) fn count_of(&self, owner: &str) -> u64 {
        self.owners.get(owner).map_or(0, |number| self.owned[*number as usize])
    }

    /// Whether the job of this card, of which this is alive, is asked for, as far as its next slot does not
    /// matter.
    pub(super) fn matches(
        &self,
        filter: &JobFilter,
        (job, card): (JobId, &Card),
        live: &[&Execution],
    ) -> bool {
        let owner = filter.owner.as_ref().map(|owner| self.owners.get(owner));
        filter.recurring.is_none_or(|recurring| recurring == card.shelf.recurring())
            && owner.is_none_or(|owner| owner == Some(&card.owner))
            && filter.paused.is_none_or(|paused| paused == self.paused.contains(&job))
            && filter
                .tag
                .as_deref()
                .is_none_or(|tag| self.tagged(tag).is_some_and(|jobs| jobs.contains(&job)))
            && filter.name_prefix.as_deref().is_none_or(|prefix| card.name.starts_with(prefix))
            && filter
                .status
                .is_none_or(|status| status == card.shelf.rest().with(live.iter().copied()))
    }
}

fn set(jobs: &mut BTreeSet<JobId>, job: JobId, is_in: bool) {
    if is_in {
        jobs.insert(job);
    } else if !jobs.is_empty() {
        jobs.remove(&job);
    }
}
