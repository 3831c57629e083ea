//! Finds the server's programs, which distributions keep out of the search path.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The directory with `initdb`, `postgres` and `pg_ctl`: the one that `CHRONOS_PG_BIN` names, or the
/// newest that is installed.
pub fn binaries() -> io::Result<PathBuf> {
    if let Some(named) = env::var_os("CHRONOS_PG_BIN") {
        return Ok(named.into());
    }
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        for version in versions.flatten() {
            let number = version.file_name().to_string_lossy().parse();
            let bin = version.path().join("bin");
            if let (Ok(number), true) = (number, bin.join("initdb").exists()) {
                found.push((number, bin));
            }
        }
    }
    if let Some((_, newest)) = found.into_iter().max() {
        return Ok(newest);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut directories = env::split_paths(&path);
    let in_path = directories.find(|directory: &PathBuf| has_server(directory));
    in_path.ok_or_else(|| {
        let text = "there is no PostgreSQL server on this machine; run `make postgres`, or name the \
                    directory of its programs in CHRONOS_PG_BIN";
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

fn has_server(directory: &Path) -> bool {
    ["initdb", "postgres", "pg_ctl"].iter().all(|program| directory.join(program).exists())
}
