//! Addresses of stores: which engine, and where it keeps its files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::OpenError;

/// Where a store is: `memory:`, `fjall:PATH` or `rocksdb:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// In memory; nothing survives the process.
    Memory,
    /// In a directory, kept by an engine.
    Directory(Engine, PathBuf),
}

/// An engine that keeps its files in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The pure-Rust engine.
    Fjall,
    /// The RocksDB engine.
    RocksDb,
}

impl Engine {
    /// As it is written in addresses and marker files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fjall => "fjall",
            Self::RocksDb => "rocksdb",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Fjall, Self::RocksDb].into_iter().find(|engine| engine.name() == name)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl StoreUrl {
    /// The directory, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::Directory(_, path) => Some(path),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let problem = |problem| OpenError::Address { given: text.into(), problem };
        let (scheme, path) = text.split_once(':').ok_or_else(|| problem("names no engine"))?;
        if scheme == "memory" {
            let path = path.is_empty().then_some(Self::Memory);
            return path.ok_or_else(|| problem("has a path, and memory has none"));
        }
        let engine = Engine::named(scheme).ok_or_else(|| problem("names an unknown engine"))?;
        if path.is_empty() {
            return Err(problem("names no directory"));
        }
        // In "fjall://data" some read a host and some a path from the root; neither was meant.
        if path.starts_with("//") && !path.starts_with("///") {
            return Err(problem("has two slashes before its path, which must follow the colon"));
        }
        Ok(Self::Directory(engine, path.into()))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Directory(engine, path) => write!(f, "{engine}:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in ["memory:", "fjall:data", "fjall:/var/lib/chronos", "rocksdb:a b:c"] {
            assert_eq!(text.parse::<StoreUrl>().unwrap().to_string(), text);
        }
        let url: StoreUrl = "fjall:./x".parse().unwrap();
        assert_eq!(url.path(), Some(Path::new("./x")));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_accepted_ones() {
        for (text, problem) in [
            ("", "names no engine"),
            ("data", "names no engine"),
            ("sqlite:x", "unknown engine"),
            ("fjall:", "names no directory"),
            ("fjall://data", "two slashes"),
            ("memory:x", "has a path"),
        ] {
            let error = text.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("fjall:PATH"), "{error}");
        }
    }
}
