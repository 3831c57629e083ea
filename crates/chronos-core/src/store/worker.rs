//! Workers: nodes as they describe themselves.

use serde::{Deserialize, Serialize};

use crate::{Timestamp, WorkerId};

/// A worker as it last described itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Identifies it; another start is another worker.
    pub id: WorkerId,
    /// The machine that it runs on.
    pub host: Box<str>,
    /// The version of the program.
    pub version: Box<str>,
    /// What it does.
    pub roles: Roles,
    /// When it started.
    pub started_at: Timestamp,
    /// When it described itself.
    pub seen_at: Timestamp,
    /// Executions that it may run at once.
    pub capacity: u64,
    /// Executions that it runs.
    pub running: u64,
}

/// What a node does besides answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// It fires the slots of due jobs and looks for what was lost.
    pub scheduler: bool,
    /// It runs what was fired.
    pub worker: bool,
}

impl Default for Roles {
    /// Everything.
    fn default() -> Self {
        Self { scheduler: true, worker: true }
    }
}
