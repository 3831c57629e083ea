//! Digests: what stands out in a period, whatever the number of its jobs.

use std::cmp::Reverse;

use chronos_core::JobId;
use serde::{Deserialize, Serialize};

use crate::facts::{Figures, JobFacts};

/// What people know a job by, as it was last known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Whose job it is.
    pub owner: Box<str>,
    /// What people call it.
    pub name: Box<str>,
    /// Where its requests go, if it makes any.
    pub host: Option<Box<str>>,
}

impl Card {
    /// The card of a job of which nobody knows any more than its id.
    #[must_use]
    pub fn unknown(job: JobId) -> Self {
        Self { name: job.to_string().into(), ..Self::default() }
    }
}

/// What stands out in a period: figures of all its jobs, and the jobs to look at first.
///
/// Jobs may be taken in in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// The figures of all jobs together.
    pub figures: Figures,
    /// How many jobs there are.
    pub jobs: u64,
    /// The place in the journal of the newest entry of all.
    pub newest: u64,
    /// The jobs that failed most often, the worst first.
    pub most_failing: Vec<JobDigest>,
    /// The jobs with the longest runs, the longest first.
    pub slowest: Vec<JobDigest>,
    /// The jobs that passed over most slots, the most first.
    pub most_skipped: Vec<JobDigest>,
}

/// A job that stands out, and all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDigest {
    /// The job.
    pub job: JobId,
    /// What people know it by.
    pub card: Card,
    /// What is known of it in the period.
    pub facts: JobFacts,
}

/// What jobs are put in order by.
type Score = fn(&JobFacts) -> u64;

impl Digest {
    /// Jobs in each list at most.
    pub const LISTED: usize = 10;

    /// Takes a job in; `card` is asked for those that stand out alone.
    pub fn take(&mut self, job: JobId, facts: &JobFacts, card: impl FnOnce() -> Card) {
        self.figures.merge(&facts.figures);
        self.jobs = self.jobs.saturating_add(1);
        self.newest = self.newest.max(facts.newest);
        let ranks: [(&mut Vec<JobDigest>, Score); 3] = [
            (&mut self.most_failing, failures),
            (&mut self.slowest, longest),
            (&mut self.most_skipped, skips),
        ];
        let places: Vec<_> = ranks
            .into_iter()
            .filter_map(|(list, score)| Some((place(list, job, facts, score)?, list)))
            .collect();
        if places.is_empty() {
            return;
        }
        let digest = JobDigest { job, card: card(), facts: facts.clone() };
        for (place, list) in places {
            list.insert(place, digest.clone());
            list.truncate(Self::LISTED);
        }
    }
}

/// Where in a list the job belongs, if it stands out enough to be listed.
fn place(
    list: &[JobDigest],
    job: JobId,
    facts: &JobFacts,
    score: fn(&JobFacts) -> u64,
) -> Option<usize> {
    let own = score(facts);
    // Of equals the older job goes first, whichever was taken in first.
    let rank = (Reverse(own), job);
    let place = list.partition_point(|other| (Reverse(score(&other.facts)), other.job) < rank);
    (own > 0 && place < Digest::LISTED).then_some(place)
}

fn failures(facts: &JobFacts) -> u64 {
    facts.figures.endings.failures()
}

fn longest(facts: &JobFacts) -> u64 {
    let took = facts.slowest.map(|slowest| slowest.took()).unwrap_or_default();
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

fn skips(facts: &JobFacts) -> u64 {
    facts.figures.skipped()
}
