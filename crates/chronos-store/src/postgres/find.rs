//! Finding jobs: the smallest source that holds every job asked for is gone through, a bounded part at a
//! time.
//!
//! Most sources are an index that ends in the job's id, so a page begins where the one before it ended,
//! however far that is. A source of another order is listed and sorted, if it is small.

use chronos_core::job::Status;
use chronos_core::store::{JobCounts, JobFilter, JobPage, Result};
use chronos_core::{JobId, JobSpec};
use sqlx::types::Uuid;

use super::reads::job;
use super::shared::Shared;
use super::statements::{Bound, Statement, in_schema};
use super::values::{AsUuid as _, Fields, limit as rows_up_to, text, time};

/// Candidates that a search looks at before it leaves the rest to the next.
const MOST_LOOKED_AT: usize = 4_096;
/// Candidates that are sorted for one search. Where there are more, going through all jobs finds some of
/// them soon.
const MOST_LISTED: usize = 10_000;

/// A set that holds every job asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Tag,
    Rest,
    Retrying,
    Paused,
    Owner,
    Recurring,
    Running,
    OwnerName,
    Name,
    Next,
    All,
}

impl Source {
    const COUNT: usize = Self::All as usize + 1;

    /// The sources of which each holds every job that the filter asks for; the likely smallest first.
    fn of(filter: &JobFilter) -> Vec<Self> {
        let by_status = filter.status.and_then(|status| match status {
            Status::Running => Some(Self::Running),
            Status::RetryPending => Some(Self::Retrying),
            Status::Success | Status::Failed | Status::Disabled => Some(Self::Rest),
            // Nearly every job is, and the others are passed over.
            Status::Pending => None,
        });
        let spans = filter.next_from.is_some() || filter.next_before.is_some();
        let prefix = filter.name_prefix.as_deref().is_some_and(|prefix| !prefix.is_empty());
        let by_name = if filter.owner.is_some() { Self::OwnerName } else { Self::Name };
        [
            by_status,
            filter.tag.as_ref().map(|_| Self::Tag),
            prefix.then_some(by_name),
            filter.paused.filter(|paused| *paused).map(|_| Self::Paused),
            spans.then_some(Self::Next),
            filter.owner.as_ref().map(|_| Self::Owner),
            filter.recurring.map(|_| Self::Recurring),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether its candidates come in the order of ids by themselves.
    fn is_ordered(self) -> bool {
        !matches!(self, Self::Running | Self::OwnerName | Self::Name | Self::Next)
    }
}

/// The statements that search, for each source.
pub(super) struct Finds {
    find: [Statement; Source::COUNT],
    end: [Statement; Source::COUNT],
    size: [Statement; Source::COUNT],
}

impl Finds {
    pub(super) fn new(schema: &str, prepared: bool) -> Self {
        let of = |words: &'static str| {
            move |source: &str| {
                let words = words.replace("chronos_source", &format!("\n{source}"));
                Statement::new(&in_schema(&words, schema), prepared)
            }
        };
        // In the order of the variants.
        let sources: [&str; Source::COUNT] = [
            include_str!("sql/source_tag.sql"),
            include_str!("sql/source_rest.sql"),
            include_str!("sql/source_retrying.sql"),
            include_str!("sql/source_paused.sql"),
            include_str!("sql/source_owner.sql"),
            include_str!("sql/source_recurring.sql"),
            include_str!("sql/source_running.sql"),
            include_str!("sql/source_owner_name.sql"),
            include_str!("sql/source_name.sql"),
            include_str!("sql/source_next.sql"),
            include_str!("sql/source_all.sql"),
        ];
        Self {
            find: sources.map(of(include_str!("sql/jobs_find.sql"))),
            end: sources.map(of(include_str!("sql/jobs_find_end.sql"))),
            size: sources.map(of(include_str!("sql/jobs_find_size.sql"))),
        }
    }
}

impl Shared {
    pub(super) async fn find_jobs(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<JobPage> {
        if limit == 0 {
            return Ok(JobPage { jobs: Vec::new(), next: after });
        }
        let after = after.map_or(Uuid::nil(), |after| after.uuid());
        let source = self.source(filter).await? as usize;
        // The end comes first: what is deleted meanwhile must not move it over others.
        let end = &self.sql.finds.end[source];
        let end = bind(end, filter, (after, Uuid::max()), MOST_LOOKED_AT - 1);
        let end = self.fetch_optional(end).await?;
        let end: Option<Uuid> = end.map(|row| Fields::of(&row).get()).transpose()?;
        // One more than asked for tells whether there are more.
        let span = (after, end.unwrap_or(Uuid::max()));
        let find = bind(&self.sql.finds.find[source], filter, span, limit.saturating_add(1));
        let rows = self.fetch_all(find).await?;
        let page = &rows[..rows.len().min(limit)];
        let next = match page.last() {
            Some(last) if rows.len() > limit => Some(Fields::of(last).get()?),
            _ => end,
        };
        // One that cannot be read must not hide those after it.
        let jobs = page.iter().filter_map(|row| job(row).ok()).collect();
        Ok(JobPage { jobs, next: next.map(JobId::of) })
    }

    /// The smallest source that holds every job asked for.
    async fn source(&self, filter: &JobFilter) -> Result<Source> {
        let sources = Source::of(filter);
        if let [only] = sources[..]
            && only.is_ordered()
        {
            return Ok(only);
        }
        let mut best = (MOST_LISTED + 1, Source::All);
        for source in sources {
            let size = bind(
                &self.sql.finds.size[source as usize],
                filter,
                (Uuid::nil(), Uuid::max()),
                MOST_LISTED + 1,
            );
            let size = self.fetch_optional(size).await?;
            let size = size.map_or(Ok(0), |row| Fields::of(&row).count())?;
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let is_large = size > MOST_LISTED;
            let is_first = best.1 == Source::All && source.is_ordered();
            if size < best.0 || (is_large && is_first) {
                best = (size, source);
            }
        }
        Ok(best.1)
    }

    pub(super) async fn count_jobs(&self) -> Result<JobCounts> {
        let mut counts = JobCounts::default();
        for row in self.fetch_all(self.sql.jobs_count.query()).await? {
            let fields = &mut Fields::of(&row);
            if let Some(status) = Status::parse(fields.get()?) {
                *counts.of(status) = fields.count()?;
            }
        }
        Ok(counts)
    }
}

/// Binds the filter and the bounds of a search; every statement of a search counts them alike.
fn bind(
    statement: &Statement,
    filter: &JobFilter,
    (after, end): (Uuid, Uuid),
    most: usize,
) -> Bound {
    let text = |given: &Option<Box<str>>| given.as_deref().map(|given| text(given).into_owned());
    let from = text(&filter.name_prefix);
    // No name that begins like this is longer, and no letter is larger.
    let to = from.as_ref().map(|prefix| prefix.clone() + &"\u{10ffff}".repeat(JobSpec::MAX_NAME));
    let query = statement.query().bind(after).bind(end).bind(rows_up_to(most));
    let query = query.bind(text(&filter.owner)).bind(from).bind(to).bind(text(&filter.tag));
    let query = query.bind(filter.status.map(Status::as_str)).bind(filter.paused);
    let query = query.bind(filter.recurring).bind(filter.next_from.map(time));
    query.bind(filter.next_before.map(time))
}
