//! Looks through the engine's files before it opens them, because it deletes what it cannot place.
//!
//! At its start the engine removes a keyspace whose list of tables is missing, and every table that the
//! list does not name, without checking the list against the checksum that it keeps beside it.

use std::fs;
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use super::journal;
use crate::kv::durable::{Failure, Result};
use crate::kv::mark::Promise;

/// Checks that everything that must be there is there and whole; gives the last batch of the journals
/// that the engine is done with once it is open.
pub(super) fn inspect(root: &Path, promise: Promise) -> Result<u64> {
    if !root.join("version").is_file() {
        return damaged("engine/version is missing");
    }
    let keyspaces = root.join("keyspaces");
    if !keyspaces.join("0").join("current").is_file() {
        return damaged("engine/keyspaces/0/current is missing");
    }
    for entry in fs::read_dir(&keyspaces)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            inspect_keyspace(&entry.path(), &entry.file_name().to_string_lossy())?;
        }
    }
    journal::follow(root, promise)
}

fn inspect_keyspace(path: &Path, name: &str) -> Result<()> {
    let current = match fs::read(path.join("current")) {
        Ok(current) => current,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Without tables it is one that was being made when the process ended.
            if has_tables(path)? {
                return damaged(format!("engine/keyspaces/{name}/current is missing"));
            }
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    // The number of the list of tables, its checksum, and the kind of checksum.
    let parsed = current.split_first_chunk().and_then(|(number, rest)| {
        let (sum, kind) = rest.split_first_chunk()?;
        (kind == [0]).then_some((u64::from_le_bytes(*number), u128::from_le_bytes(*sum)))
    });
    let Some((number, sum)) = parsed else {
        return damaged(format!("engine/keyspaces/{name}/current cannot be read"));
    };
    match fs::read(path.join(format!("v{number}"))) {
        Ok(list) if xxh3_128(&list) == sum => Ok(()),
        Ok(_) => damaged(format!("engine/keyspaces/{name}/v{number} is not what was written")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            damaged(format!("engine/keyspaces/{name}/v{number} is missing"))
        }
        Err(error) => Err(error.into()),
    }
}

fn has_tables(keyspace: &Path) -> io::Result<bool> {
    match fs::read_dir(keyspace.join("tables")) {
        Ok(mut tables) => Ok(tables.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged<T>(what: impl Into<String>) -> Result<T> {
    Err(Failure::Damaged(what.into()))
}
