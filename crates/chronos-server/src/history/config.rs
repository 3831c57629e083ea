//! What is configured about the history.

use chronos_history::{
    IndexCommitJobConfig, KeepLevels, KeepRecords, PruneJobConfig, RollupJobConfig,
};

/// What a node does about the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// Whether it keeps one at all.
    pub enabled: bool,
    /// When and what it rolls up.
    pub rollup: RollupJobConfig,
    /// When the index is committed.
    pub index_commit: IndexCommitJobConfig,
    /// When what is no longer to be kept is forgotten.
    pub prune: PruneJobConfig,
    /// How long the store keeps what happened.
    pub keep_records: KeepRecords,
    /// How long each level of the table of contents is kept.
    pub keep_levels: KeepLevels,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            rollup: RollupJobConfig::default(),
            index_commit: IndexCommitJobConfig::default(),
            prune: PruneJobConfig::default(),
            keep_records: KeepRecords::default(),
            keep_levels: KeepLevels::default(),
        }
    }
}
