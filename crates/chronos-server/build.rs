//! Puts the built dashboard into the binary, if there is one: `make dashboard` builds it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let dist = crate_dir.join("../../dashboard/dist");
    // A path that is not there would have this run anew with every build.
    if dist.is_dir() {
        println!("cargo:rerun-if-changed={}", dist.display());
    }
    let site = dist.join("site");
    let mut files = Vec::new();
    if site.join("index.html").is_file() {
        find(&site, &mut files)?;
        files.sort();
    }
    let mut table = String::from("&[\n");
    for file in &files {
        let Ok(name) = file.strip_prefix(&site) else { continue };
        let name = name.to_string_lossy().replace('\\', "/");
        let path = file.canonicalize()?.to_string_lossy().into_owned();
        let _ = writeln!(table, "    File {{ path: {name:?}, bytes: include_bytes!({path:?}) }},");
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("dashboard.rs"), table)
}

fn find(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
