//! The history: a table of contents of what happened, made from the scheduler's journal.
//!
//! Entries of the journal become facts of jobs in hours, facts of hours become those of days, and so on up to
//! years; what stands out in each becomes a [`Node`]. All of it is kept in an [`Archive`], a directory that can
//! be deleted and made again.
//!
//! History is told in hours, days, ISO weeks, months and years, all in universal time. A
//! [`Period`] knows its id, its title, its bounds, and which period owns it:
//!
//! ```
//! use chronos_core::Timestamp;
//! use chronos_history::{Level, Period};
//!
//! let noon = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
//! let day = Period::containing(Level::Day, noon);
//! assert_eq!(day.to_string(), "toc:day:2026-11-15");
//! assert_eq!(day.title(), "Sunday, 15 November 2026");
//!
//! let week = day.parent().unwrap();
//! assert_eq!(week, "toc:week:2026:W46".parse()?);
//! assert_eq!(week.title(), "Week 46 of 2026 (9–15 November)");
//! # Ok::<(), chronos_history::Error>(())
//! ```

mod archive;
mod digest;
mod entry;
mod error;
mod facts;
mod jobs;
mod moment;
mod node;
mod period;
mod projector;
mod rollup;
pub mod search;
mod summary;

pub use archive::{Archive, ArchiveError, Cursor, Shelf};
pub use digest::{Card, Digest, JobDigest};
pub use entry::{Ended, Entry, Event, reason_of};
pub use error::Error;
pub use facts::{
    Cause, Causes, Endings, Failures, Figures, JobFacts, Sighting, Sketch, Slowest, Spell, Timeline,
};
pub use jobs::{
    Archives, INDEX_COMMIT_JOB, IndexCommitJobConfig, KeepLevels, KeepRecords, PRUNE_JOB,
    PruneJobConfig, PrunedRecords, ROLLUP_DAY_JOB, ROLLUP_MONTH_JOB, ROLLUP_WEEK_JOB,
    RollupJobConfig, TOC_PRUNE_JOB, create_index_commit_job, create_prune_job, create_rollup_jobs,
    create_toc_prune_job, prune_levels, prune_records,
};
pub use node::{Bullet, Failing, Moment, Node, Phase, Slow, Summary};
pub use period::{Level, Period};
pub use projector::{ProjectError, Projected, Projector};
pub use rollup::{RolledUp, RollupJob};
pub use summary::{Extractive, Summarizer, Unsaid};
