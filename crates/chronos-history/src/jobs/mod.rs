//! The history's own jobs, registered like every other job of a program.

mod index_commit;
mod prune;
mod rollup;

use crate::archive::Archive;

pub use index_commit::{INDEX_COMMIT_JOB, IndexCommitJobConfig, create_index_commit_job};
pub use prune::{
    KeepLevels, KeepRecords, PRUNE_JOB, PruneJobConfig, PrunedRecords, TOC_PRUNE_JOB,
    create_prune_job, create_toc_prune_job, prune_levels, prune_records,
};
pub use rollup::{
    ROLLUP_DAY_JOB, ROLLUP_MONTH_JOB, ROLLUP_WEEK_JOB, RollupJobConfig, create_rollup_jobs,
};

/// Where a job finds the archive when it runs: one that is made again has no archive meanwhile.
pub trait Archives: Send + Sync + 'static {
    /// The archive, or why there is none just now.
    fn archive(&self) -> Result<Archive, String>;

    /// The archive once it tells of all that happened before, or why it does not just now. Until then nothing of it
    /// is forgotten: what is missing may be told yet.
    fn told_in_full(&self) -> Result<Archive, String> {
        self.archive()
    }
}

impl Archives for Archive {
    fn archive(&self) -> Result<Archive, String> {
        Ok(self.clone())
    }
}
