//! Figures about a store.

/// Figures about what is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Jobs.
    pub jobs: u64,
    /// Jobs that are paused.
    pub paused: u64,
    /// Executions that wait.
    pub queued: u64,
    /// Executions that run.
    pub running: u64,
    /// Bytes held, as far as the engine knows.
    pub bytes: u64,
}
