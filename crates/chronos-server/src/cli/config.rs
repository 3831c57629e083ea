//! `chronos config`: what is in force, and where it came from.

use std::io::Write;
use std::path::PathBuf;

use anstyle::Style;
use serde::Serialize;

use super::{Error, write_json};
use crate::config::{self, Flags, InForce, KEYS};
use crate::text::on_one_line;

const QUIET: Style = Style::new().dimmed();

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Values come from chronos.toml, over it CHRONOS_* variables, over them flags. What is printed is a \
valid chronos.toml.

Examples:
  chronos config
  CHRONOS_LOG=debug chronos config --listen 0.0.0.0:8080
  chronos config --json | jq -r .data_dir.value")]
pub(super) struct Args {
    #[command(flatten)]
    layers: Layers,
    /// Print JSON: for each key its value and its source
    #[arg(long)]
    json: bool,
}

/// Where a configuration comes from.
#[derive(Debug, clap::Args)]
pub(super) struct Layers {
    /// The file to read [default: chronos.toml in the working directory, if there is one]
    #[arg(long, value_name = "FILE", env = "CHRONOS_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

impl Layers {
    /// Reads and checks them, with the variables of this process.
    pub(super) fn load(&self) -> Result<InForce, Error> {
        // A variable that is no text cannot be one of ours: all of our names and values are.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()));
        Ok(config::load(self.config.as_deref(), variables, &self.flags)?)
    }
}

#[derive(Serialize)]
struct Answer {
    value: toml::Value,
    source: String,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let in_force = args.layers.load()?;
    let values = toml::Table::try_from(&in_force.config)
        .map_err(|error| Error::Output(std::io::Error::other(error)))?;
    let answers = KEYS.iter().filter_map(|key| {
        let value = values.get(key.name)?.clone();
        Some((key.name, Answer { value, source: in_force.source(key) }))
    });
    if args.json {
        let answers: serde_json::Map<_, _> =
            answers.map(|(name, answer)| (name.to_owned(), serde_json::json!(answer))).collect();
        return write_json(&answers, out);
    }
    let lines: Vec<(String, String)> = answers
        .map(|(name, answer)| (format!("{name} = {}", answer.value), answer.source))
        .collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    for (line, source) in lines {
        writeln!(out, "{line:width$}  {QUIET}# {}{QUIET:#}", on_one_line(&source))?;
    }
    Ok(())
}
