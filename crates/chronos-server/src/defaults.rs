//! Defaults: what a spec takes from the scheduler that it is for, whichever way it comes in.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::http::Reach;
use chronos_core::schedule::Zone;
use chronos_engine::SchedulerService;
use chronos_engine::http::Keyring;

/// What a spec takes from the scheduler that it is for.
pub(crate) struct Defaults<'a> {
    pub(crate) zone: Zone,
    pub(crate) misfire_grace: Duration,
    pub(crate) handlers: Vec<Arc<str>>,
    /// Where http targets may be.
    pub(crate) reach: &'a Reach,
    /// What their secrets are sealed with.
    pub(crate) keyring: Option<&'a dyn Keyring>,
}

impl<'a> Defaults<'a> {
    pub(crate) fn of(service: &'a SchedulerService) -> Self {
        Self {
            zone: service.default_zone(),
            misfire_grace: service.config().misfire_grace,
            handlers: service.handlers(),
            reach: &service.config().reach,
            keyring: service.keyring(),
        }
    }
}
