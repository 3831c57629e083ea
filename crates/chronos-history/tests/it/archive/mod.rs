//! The archive: made again it says the same, late data reaches every level, and damage is refused.

mod calendar;
mod directory;
mod pruning;
mod rebuild;
mod shelves;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_history::{Archive, Cursor, Entry, Extractive, Level, RolledUp, RollupJob};

use crate::world::cards;

/// How far the journal was read with these entries.
fn cursor(entries: &[Entry]) -> Cursor {
    let sequence = entries.last().map_or(0, |entry| entry.sequence);
    Cursor { sequence, anchor: sequence * 7 }
}

fn open(path: &Path) -> Archive {
    Archive::open(path).unwrap()
}

fn project(archive: &Archive, entries: &[Entry]) {
    archive.project(entries, &cards(), cursor(entries)).unwrap();
}

async fn roll_up(archive: &Archive, now: Timestamp) -> RolledUp {
    let hour = Duration::from_hours(1);
    let job = RollupJob::new(archive.clone(), Arc::new(Extractive), Level::Day, hour);
    job.run(now, || false).await.unwrap()
}
