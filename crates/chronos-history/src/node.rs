//! Nodes: what the table of contents says of a period.

use std::time::Duration;

use chronos_core::schedule::Zone;
use chronos_core::{ExecutionId, JobId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::digest::{Digest, JobDigest};
use crate::facts::Figures;
use crate::{Level, Period, moment};

/// What the table of contents says of a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The period; its id and title are the node's.
    pub period: Period,
    /// Whether more is expected.
    pub phase: Phase,
    /// Grows whenever something that happened in the period is added: the place in the journal of the newest
    /// that was. So a node that is made anew from the same journal has the same version.
    pub version: u64,
    /// What there is to say of it.
    pub summary: Summary,
    /// Figures of all its jobs together.
    pub figures: Figures,
    /// How many jobs there are.
    pub jobs: u64,
    /// The jobs that failed most often, the worst first.
    pub most_failing: Vec<Failing>,
    /// The jobs with the longest runs, the longest first.
    pub slowest: Vec<Slow>,
    /// The periods that it was put together from, in order.
    pub children: Vec<Period>,
}

/// Whether more is expected in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The period goes on, or has ended just now.
    Partial,
    /// Nothing more is expected; whatever comes late is added all the same.
    Final,
}

/// What there is to say of a period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Notes, the most important first.
    pub bullets: Vec<Bullet>,
    /// Words that it may be found by, the most telling first.
    pub keywords: Vec<Box<str>>,
}

/// A note, and what bears it out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bullet {
    /// What there is to say.
    pub text: Box<str>,
    /// Executions that bear it out.
    pub evidence: Vec<ExecutionId>,
    /// The instants that it speaks of, in the order of the text.
    pub moments: Vec<Moment>,
}

/// An instant that a note speaks of, and where in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The byte of the text at which it begins.
    pub from: usize,
    /// The byte after its last.
    pub to: usize,
    /// The instant.
    pub at: Timestamp,
    /// The level of the period that is told of, which says how finely.
    pub level: Level,
}

/// A job that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// The job.
    pub job: JobId,
    /// What people call it.
    pub name: Box<str>,
    /// How often it failed.
    pub failures: u64,
    /// How many attempts there were.
    pub attempts: u64,
}

/// A job with long runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slow {
    /// The job.
    pub job: JobId,
    /// What people call it.
    pub name: Box<str>,
    /// The longest of its runs.
    pub execution: ExecutionId,
    /// How long that took.
    pub took: Duration,
    /// What nineteen of twenty of its runs took at most.
    pub p95: Duration,
}

impl Bullet {
    /// A note whose instants are still to be written out.
    pub(crate) fn drafted(draft: &str, evidence: Vec<ExecutionId>) -> Self {
        let (mut text, mut moments) = (String::with_capacity(draft.len()), Vec::new());
        let mut rest = draft;
        while let Some((before, at, level, after)) = moment::next_in(rest) {
            text.push_str(before);
            let from = text.len();
            text.push_str(&moment::told(level, at, Zone::UTC));
            moments.push(Moment { from, to: text.len(), at, level });
            rest = after;
        }
        text.push_str(rest);
        Self { text: text.into(), evidence, moments }
    }

    /// The note with its instants as the clocks of a zone show them.
    #[must_use]
    pub fn text_in(&self, zone: Zone) -> String {
        let (mut text, mut done) = (String::with_capacity(self.text.len()), 0);
        for Moment { from, to, at, level } in &self.moments {
            // Whoever shortened the text may have cut one off.
            let Some(before) = self.text.get(done..*from).filter(|_| *to <= self.text.len()) else {
                break;
            };
            text.push_str(before);
            text.push_str(&moment::told(*level, *at, zone));
            done = *to;
        }
        text.push_str(self.text.get(done..).unwrap_or_default());
        text
    }
}

impl Summary {
    /// Notes that are kept at most.
    pub const BULLETS: usize = 16;
    /// Characters of a note that are kept at most.
    pub const TEXT: usize = 400;
    /// Executions that a note refers to at most.
    pub const EVIDENCE: usize = 8;
    /// Keywords that are kept at most.
    pub const KEYWORDS: usize = 16;

    /// The same summary within its bounds, whoever wrote it.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.bullets.truncate(Self::BULLETS);
        for bullet in &mut self.bullets {
            let text = shortened(&bullet.text, Self::TEXT);
            if text != bullet.text {
                let kept = bullet.text.char_indices().nth(Self::TEXT).map_or(0, |(end, _)| end);
                bullet.moments.retain(|moment| moment.to <= kept);
                bullet.text = text;
            }
            bullet.evidence.truncate(Self::EVIDENCE);
        }
        self.keywords.truncate(Self::KEYWORDS);
        for keyword in &mut self.keywords {
            *keyword = shortened(keyword, Self::TEXT);
        }
        self
    }
}

fn shortened(text: &str, most: usize) -> Box<str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

impl Node {
    /// The node of a period, from its digest and what there is to say of it.
    #[must_use]
    pub fn new(
        period: Period,
        phase: Phase,
        digest: Digest,
        children: Vec<Period>,
        summary: Summary,
    ) -> Self {
        Self {
            period,
            phase,
            version: digest.newest,
            summary: summary.bounded(),
            jobs: digest.jobs,
            most_failing: digest.most_failing.iter().map(Failing::of).collect(),
            slowest: digest.slowest.iter().filter_map(Slow::of).collect(),
            figures: digest.figures,
            children,
        }
    }
}

impl Failing {
    fn of(digest: &JobDigest) -> Self {
        let endings = digest.facts.figures.endings;
        Self {
            job: digest.job,
            name: digest.card.name.clone(),
            failures: endings.failures(),
            attempts: endings.total(),
        }
    }
}

impl Slow {
    fn of(digest: &JobDigest) -> Option<Self> {
        let slowest = digest.facts.slowest?;
        Some(Self {
            job: digest.job,
            name: digest.card.name.clone(),
            execution: slowest.execution(),
            took: slowest.took(),
            p95: digest.facts.figures.durations.quantile(0.95)?,
        })
    }
}
