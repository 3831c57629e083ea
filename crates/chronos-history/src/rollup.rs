//! Rolling up: what is new in some periods is told in those that own them, up to the year.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::Timestamp;

use crate::archive::{Archive, ArchiveError, Gathered};
use crate::node::{Node, Phase};
use crate::summary::{Summarizer, Unsaid, sum_up};
use crate::{Level, Period};

/// Longer periods than days are told of a day after their parts have ended.
const DAY: Duration = Duration::from_hours(24);

/// Rolls up what is new into the periods of a level, and from there into all that own them.
///
/// Whatever is new is marked, and what is marked is rolled up, however late it came: so a run costs what has
/// changed, no period waits for a particular run, and a run that was stopped anywhere is taken up by the next.
#[derive(Clone)]
pub struct RollupJob {
    archive: Archive,
    summarizer: Arc<dyn Summarizer>,
    level: Level,
    min_age: Duration,
    /// Those of weeks, and of months and years.
    above: (Duration, Duration),
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolledUp {
    /// Nodes that were written.
    pub nodes: u64,
    /// Whether it was stopped before it was through.
    pub stopped: bool,
    /// Why the summarizer did not sum up a period, for the last of those where it did not. Such periods are
    /// summed up by [`Extractive`](crate::Extractive).
    pub unsaid: Option<Unsaid>,
}

impl RollupJob {
    /// How long an hour must be over before a day tells of it.
    pub const DAY_MIN_AGE: Duration = Duration::from_hours(1);
    /// How long a day must be over before a week tells of it.
    pub const WEEK_MIN_AGE: Duration = DAY;
    /// How long a week must be over before a month tells of it.
    pub const MONTH_MIN_AGE: Duration = DAY;

    /// A job that rolls up into this level what ended at least `min_age` ago.
    #[must_use]
    pub fn new(
        archive: Archive,
        summarizer: Arc<dyn Summarizer>,
        level: Level,
        min_age: Duration,
    ) -> Self {
        let above = (Self::WEEK_MIN_AGE, Self::MONTH_MIN_AGE);
        Self { archive, summarizer, level, min_age, above }
    }

    /// The same with other ages for the levels above its own: of weeks, and of months and years.
    #[must_use]
    pub fn with_ages_above(mut self, week: Duration, month: Duration) -> Self {
        self.above = (week, month);
        self
    }

    /// Rolls up what is new; between two periods it asks whether to stop.
    pub async fn run(
        &self,
        now: Timestamp,
        should_stop: impl Fn() -> bool,
    ) -> Result<RolledUp, ArchiveError> {
        let _rolling = self.archive.rolling().await;
        let mut rolled = RolledUp::default();
        for level in Level::ALL.into_iter().filter(|level| self.covers(*level)) {
            for (period, mark) in self.blocking(move |archive| archive.marks(level)).await? {
                if should_stop() {
                    return Ok(RolledUp { stopped: true, ..rolled });
                }
                self.roll((period, mark), now, &mut rolled).await?;
            }
        }
        Ok(rolled)
    }

    /// Whether there is something that a run would tell.
    pub async fn is_due(&self, now: Timestamp) -> Result<bool, ArchiveError> {
        let job = self.clone();
        self.blocking(move |archive| {
            for level in Level::ALL.into_iter().filter(|level| job.covers(*level)) {
                for (period, mark) in archive.marks(level)? {
                    if job.parts_to_tell(archive, (period, mark), now)?.is_some() {
                        return Ok(true);
                    }
                }
            }
            Ok(false)
        })
        .await
    }

    /// The children that a marked period has to tell of; nothing where it has none, or says all of it already.
    fn parts_to_tell(
        &self,
        archive: &Archive,
        (period, mark): (Period, u64),
        now: Timestamp,
    ) -> Result<Option<Vec<Period>>, ArchiveError> {
        let min_age = self.min_age(period.level());
        let phase = self.phase(period, now);
        if period.level() == Level::Hour && phase == Phase::Partial {
            return Ok(None);
        }
        let is_ready = |child: Period| child.is_settled(now, min_age);
        let (children, newest) = archive.known_children(period, is_ready)?;
        // An hour has no parts but what was marked; a longer period tells what its parts tell, and no more.
        let is_hour = period.level() == Level::Hour;
        let newest = if is_hour { mark } else { newest };
        let has_parts = is_hour || !children.is_empty();
        let is_told = !has_parts || archive.is_current((period, newest), phase, &children)?;
        Ok((!is_told).then_some(children))
    }

    fn phase(&self, period: Period, now: Timestamp) -> Phase {
        let is_settled = period.is_settled(now, self.min_age(period.level()));
        if is_settled { Phase::Final } else { Phase::Partial }
    }

    /// Its own level and those above; days are told from hours, which nobody else tells of.
    fn covers(&self, level: Level) -> bool {
        level >= self.level || (self.level == Level::Day && level == Level::Hour)
    }

    fn min_age(&self, level: Level) -> Duration {
        match level {
            level if level <= self.level => self.min_age,
            Level::Hour | Level::Day => self.min_age.max(DAY),
            Level::Week => self.min_age.max(self.above.0),
            Level::Month | Level::Year => self.min_age.max(self.above.1),
        }
    }

    async fn roll(
        &self,
        (period, mark): (Period, u64),
        now: Timestamp,
        rolled: &mut RolledUp,
    ) -> Result<(), ArchiveError> {
        let phase = self.phase(period, now);
        if period.level() == Level::Hour && phase == Phase::Partial {
            return Ok(());
        }
        let job = self.clone();
        let gathered = self.blocking(move |archive| {
            let children = job.parts_to_tell(archive, (period, mark), now)?;
            children.map(|children| archive.gather(period, &children)).transpose()
        });
        let mut nodes = Vec::new();
        for shelf in gathered.await?.into_iter().flatten() {
            let Some(shelf) = self.unless_current(period, phase, shelf).await? else {
                continue;
            };
            let (shelf, children) = self.with_children(shelf).await?;
            let Gathered { owner, digest, children: drawn_from } = shelf;
            let (summary, unsaid) =
                sum_up(self.summarizer.as_ref(), period, &digest, &children).await;
            rolled.unsaid = unsaid.or(rolled.unsaid.take());
            nodes.push((owner, Node::new(period, phase, digest, drawn_from, summary)));
        }
        if nodes.is_empty() && phase == Phase::Partial {
            return Ok(());
        }
        rolled.nodes += nodes.len() as u64;
        self.blocking(move |archive| archive.file((period, mark), phase, &nodes)).await
    }

    /// What was gathered, unless its shelf says all of it already.
    async fn unless_current(
        &self,
        period: Period,
        phase: Phase,
        gathered: Gathered,
    ) -> Result<Option<Gathered>, ArchiveError> {
        self.blocking(move |archive| {
            let node = archive.node(gathered.shelf(), period)?;
            let says_all = node.is_some_and(|node| {
                node.version == gathered.digest.newest
                    && node.phase == phase
                    && node.children == gathered.children
            });
            Ok((!says_all).then_some(gathered))
        })
        .await
    }

    /// What was gathered, with the nodes that it was gathered from.
    async fn with_children(
        &self,
        gathered: Gathered,
    ) -> Result<(Gathered, Vec<Node>), ArchiveError> {
        self.blocking(move |archive| {
            let mut nodes = Vec::with_capacity(gathered.children.len());
            for child in &gathered.children {
                nodes.extend(archive.node(gathered.shelf(), *child)?);
            }
            Ok((gathered, nodes))
        })
        .await
    }

    /// The archive blocks on the disk, which no asynchronous thread may.
    async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Archive) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        let archive = self.archive.clone();
        let acted = tokio::task::spawn_blocking(move || act(&archive)).await;
        acted.unwrap_or_else(|error| Err(error.into()))
    }
}
