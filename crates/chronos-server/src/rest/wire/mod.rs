//! The JSON of the API: what is asked for, and what is told.

pub(super) mod account;
pub(crate) mod audit;
pub(super) mod backfill;
pub(super) mod event;
pub(super) mod execution;
pub(crate) mod history;
pub(super) mod job;
pub(super) mod notify;
pub(super) mod policy;
pub(super) mod quiet_hours;
pub(super) mod schedule;
pub(crate) mod search;
pub(super) mod spec;
pub(super) mod subscription;
pub(super) mod target;
pub(super) mod template;

use crate::problem::FieldError;

/// What is wrong with a request, gathered so that its sender is told everything at once.
#[derive(Debug, Default)]
pub(super) struct Errors(Vec<FieldError>);

impl Errors {
    /// The value, unless it was refused; that is remembered.
    pub(super) fn note<T>(&mut self, read: Result<T, FieldError>) -> Option<T> {
        read.map_err(|error| self.0.push(error)).ok()
    }

    /// What was read, unless anything was refused.
    pub(super) fn unless_any<T>(self, read: Option<T>) -> Result<T, Vec<FieldError>> {
        match read {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self.0),
        }
    }
}
