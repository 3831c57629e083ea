//! What is configured about the history.

use chronos_history::{IndexCommitJobConfig, RollupJobConfig};

/// What a node does about the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// Whether it keeps one at all.
    pub enabled: bool,
    /// When and what it rolls up.
    pub rollup: RollupJobConfig,
    /// When the index is committed.
    pub index_commit: IndexCommitJobConfig,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            rollup: RollupJobConfig::default(),
            index_commit: IndexCommitJobConfig::default(),
        }
    }
}
