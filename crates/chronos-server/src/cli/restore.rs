//! `chronos restore`: a backup becomes the store of a new data directory.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

use super::{Error, write_json};
use crate::config::StoreKind;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The daemon must not be running on the directory, and the directory must hold no store yet.

Example:
  chronos restore /backups/chronos-20261115T040000Z.backup --data-dir /var/lib/chronos")]
pub(super) struct Args {
    /// The file that `chronos backup` wrote
    file: PathBuf,
    /// Where to put the store
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// The engine to keep it with
    #[arg(long, value_name = "ENGINE", value_parser = ["fjall", "rocksdb"], default_value = "fjall")]
    store: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let refused = |problem: String| Error::File { path: args.file.clone(), problem };
    let file = File::open(&args.file).map_err(|error| refused(error.to_string()))?;
    let kind = if args.store == "rocksdb" { StoreKind::Rocksdb } else { StoreKind::Fjall };
    let restored = chronos_store::restore(&mut BufReader::new(file), &kind.url(&args.data_dir))
        .map_err(|error| refused(error.to_string()))?;
    let directory = args.data_dir.display();
    if args.json {
        let entries = restored.entries;
        return write_json(
            &serde_json::json!({"data_dir": args.data_dir, "entries": entries}),
            out,
        );
    }
    writeln!(out, "Restored {} entries into {directory}", restored.entries)?;
    writeln!(out, "Serve them with: chronos serve --data-dir {directory} --store {}", args.store)?;
    Ok(())
}
