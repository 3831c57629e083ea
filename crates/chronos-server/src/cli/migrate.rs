//! `chronos migrate`: brings the schema of a database up to date.

use std::io::Write;

use super::config::Layers;
use super::{Error, write_json};
use crate::daemon;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Serving does the same at its start. Migrations only add, so nodes of the version before go on working \
meanwhile; run this first where the program's own user may not change tables.

Example:
  CHRONOS_DATABASE_URL=postgres://chronos:…@db/chronos chronos migrate")]
pub(super) struct Args {
    #[command(flatten)]
    layers: Layers,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let config = args.layers.load()?.config;
    let Some(database) = config.database() else {
        let problem = "missing; use --database-url URL or CHRONOS_DATABASE_URL";
        return Err(Error::input("database_url", &problem));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let migrated = runtime.map_err(Error::Machine)?.block_on(chronos_store::migrate(&database));
    let applied = migrated.map_err(|error| Error::Serve(daemon::Error::Database(error)))?;
    let version = chronos_store::SCHEMA_VERSION;
    if args.json {
        let answer = serde_json::json!({"applied": applied, "version": version});
        return write_json(&answer, out);
    }
    match applied {
        0 => write!(out, "Nothing to do: ")?,
        1 => write!(out, "Applied 1 migration: ")?,
        _ => write!(out, "Applied {applied} migrations: ")?,
    }
    writeln!(out, "schema is at version {version}")?;
    Ok(())
}
