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

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// It answers requests; an engine leaves that to the program around it.
    pub api: bool,
    /// It fires the slots of due jobs and looks for what was lost.
    pub scheduler: bool,
    /// It runs what was fired.
    pub worker: bool,
}

impl Default for Roles {
    /// All that an engine does.
    fn default() -> Self {
        Self { api: false, scheduler: true, worker: true }
    }
}

impl Roles {
    /// The names of the roles that a node has.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let all = [(self.api, "api"), (self.scheduler, "scheduler"), (self.worker, "worker")];
        all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
    }

    /// The roles of these names; others are left out, because a newer node may have more.
    #[must_use]
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut roles = Self { api: false, scheduler: false, worker: false };
        for name in names {
            match name {
                "api" => roles.api = true,
                "scheduler" => roles.scheduler = true,
                "worker" => roles.worker = true,
                _ => {}
            }
        }
        roles
    }
}
