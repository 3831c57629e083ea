//! `chronos backup`: a copy of the store, taken while its daemon goes on.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use chronos_core::Timestamp;
use indicatif::{BinaryBytes, ProgressBar};
use tempfile::NamedTempFile;

use super::progress::shown;
use super::{Ask, Daemon, EXIT_CODES};
use crate::cli::{Error, write_json};
use crate::proto;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::cli) struct BackupArgs {
    /// The directory for the copy; made if it is missing
    dir: PathBuf,
    #[command(flatten)]
    ask: Ask,
}

pub(in crate::cli) fn backup(
    args: BackupArgs,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let BackupArgs { dir, ask } = args;
    let name = now.to_datetime().format("chronos-%Y%m%dT%H%M%SZ.backup").to_string();
    let file = dir.join(name);
    let written = ask.daemon(async |mut daemon| write(&mut daemon, &dir, &file).await)?;
    if ask.json {
        return write_json(&serde_json::json!({"file": file, "bytes": written}), out);
    }
    writeln!(out, "Wrote {} ({})", file.display(), BinaryBytes(written))?;
    Ok(())
}

/// Writes beside the file's place and moves it there when it is whole and on disk.
async fn write(daemon: &mut Daemon, dir: &Path, file: &Path) -> Result<u64, Error> {
    let refused = |error: io::Error| Error::File { path: file.into(), problem: error.to_string() };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(refused)?;
    let answer = daemon.client.backup(proto::BackupRequest {}).await;
    let mut chunks = answer.map_err(|status| daemon.refusal(&status))?.into_inner();
    // Only its owner can read a temporary file, and so the copy.
    let mut copy = NamedTempFile::new_in(dir).map_err(refused)?;
    let bar = ProgressBar::new_spinner();
    let bar = shown(bar, "{spinner} {binary_bytes} {binary_bytes_per_sec}");
    loop {
        match chunks.message().await {
            Ok(Some(chunk)) => {
                copy.write_all(&chunk.data).map_err(refused)?;
                bar.inc(chunk.data.len() as u64);
            }
            Ok(None) => break,
            Err(status) => return Err(daemon.refusal(&status)),
        }
    }
    bar.finish_and_clear();
    copy.as_file().sync_all().map_err(refused)?;
    copy.persist_noclobber(file).map_err(|error| refused(error.error))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(refused)?;
    Ok(bar.position())
}
