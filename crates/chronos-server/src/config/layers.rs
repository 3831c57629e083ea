//! The layers: defaults, `chronos.toml`, `CHRONOS_*` and flags, each over the one before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment::error::Kind;
use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::key::Kind as KeyKind;
use super::{Config, Flags, KEYS, Key};

/// The file that is read when none is named.
const FILE: &str = "chronos.toml";
const PREFIX: &str = "CHRONOS_";
/// Variables of the command line itself, which are no keys.
const OTHERS: [&str; 3] = ["CHRONOS_CONFIG", "CHRONOS_SERVER", "CHRONOS_TOKEN"];

const ENVIRONMENT: &str = "environment";
const FLAGS: &str = "flags";

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value is not accepted.
    #[error("{key}: {problem}; use {accepted} (from {source_name})")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong with its value.
        problem: String,
        /// What is accepted instead.
        accepted: &'static str,
        /// The file, variable or flag that gave it.
        source_name: String,
    },
    /// There is no such key.
    #[error("{key}: no such key; use one of {} (from {source_name})", names())]
    UnknownKey {
        /// What was given.
        key: String,
        /// The file or variable that gave it.
        source_name: String,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {problem}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

/// A configuration, and where each of its values came from.
#[derive(Debug)]
pub struct InForce {
    /// The configuration.
    pub config: Config,
    figment: Figment,
}

impl InForce {
    /// The file, variable or flag that decided this key, or "default".
    #[must_use]
    pub fn source(&self, key: &Key) -> String {
        source(&self.figment, key.name)
    }
}

/// Reads every layer and checks the result.
///
/// `file` must exist when it is named; `chronos.toml` in the working directory need not.
pub fn load(
    file: Option<&Path>,
    variables: impl IntoIterator<Item = (String, String)>,
    flags: &Flags,
) -> Result<InForce, Error> {
    let defaults = Config::new(super::data_dir());
    let figment = merge_file(Figment::from(Serialized::defaults(defaults)), file)?
        .merge(Layer::of_variables(variables)?)
        .merge(Layer::of_flags(flags));
    let config: Config = figment.extract().map_err(|error| explain(&figment, &error))?;
    config.check().map_err(|(key, problem)| refuse(&figment, key, problem))?;
    Ok(InForce { config, figment })
}

/// Merges the file that is named, or the usual one if it is there.
fn merge_file(figment: Figment, file: Option<&Path>) -> Result<Figment, Error> {
    let path = file.unwrap_or(Path::new(FILE));
    if file.is_none() && !path.exists() {
        return Ok(figment);
    }
    let provider = Toml::file_exact(path);
    provider.data().map_err(|error| {
        let problem = error.kind.to_string().trim_end().to_owned();
        Error::File { path: path.into(), problem }
    })?;
    Ok(figment.merge(provider))
}

/// Values that come as text: figment would guess their types, the table knows them.
struct Layer {
    name: &'static str,
    values: Dict,
}

impl Layer {
    fn of_variables(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, Error> {
        let mut values = BTreeMap::new();
        for (variable, text) in variables {
            if !variable.starts_with(PREFIX) || OTHERS.contains(&&*variable) {
                continue;
            }
            match KEYS.iter().find(|key| key.variable == variable) {
                Some(key) => values.insert(key.name.to_owned(), typed(key, &text)),
                None if is_service_link(&variable) => continue,
                None => {
                    let key = variable[PREFIX.len()..].to_lowercase();
                    return Err(Error::UnknownKey { key, source_name: variable });
                }
            };
        }
        Ok(Self { name: ENVIRONMENT, values })
    }

    fn of_flags(flags: &Flags) -> Self {
        let given = KEYS.iter().filter_map(|key| Some((key, flags.0.get(key.name)?)));
        let values = given.map(|(key, text)| (key.name.to_owned(), typed(key, text))).collect();
        Self { name: FLAGS, values }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> figment::Result<Map<Profile, Dict>> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

fn typed(key: &Key, text: &str) -> Value {
    let value = match key.kind {
        KeyKind::Text => None,
        KeyKind::Number => text.parse::<u64>().ok().map(Value::from),
        KeyKind::Switch => text.parse::<bool>().ok().map(Value::from),
        KeyKind::List => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Some(parts.map(Value::from).collect::<Vec<_>>().into())
        }
    };
    value.unwrap_or_else(|| Value::from(text))
}

/// Container platforms announce a service named `chronos` in variables of their own.
fn is_service_link(variable: &str) -> bool {
    variable.contains("_SERVICE_") || variable.contains("_PORT_") || variable.ends_with("_PORT")
}

fn explain(figment: &Figment, error: &figment::Error) -> Error {
    if let Kind::UnknownField(key, _) = &error.kind {
        return Error::UnknownKey { key: key.clone(), source_name: source(figment, key) };
    }
    let name = error.path.first().map_or("", String::as_str);
    let problem = match &error.kind {
        Kind::Message(text) if !text.starts_with("invalid socket address") => Some(text.clone()),
        _ => None,
    };
    refuse(figment, name, problem)
}

fn refuse(figment: &Figment, name: &str, problem: Option<String>) -> Error {
    let key = KEYS.iter().find(|key| key.name == name).unwrap_or(&KEYS[0]);
    let given = || figment.find_value(key.name).map(|value| shown(&value)).unwrap_or_default();
    Error::Value {
        key: key.name,
        problem: problem.unwrap_or_else(|| format!("{} is not accepted", given())),
        accepted: key.accepted,
        source_name: source(figment, key.name),
    }
}

/// A value as it would be written in the file.
fn shown(value: &Value) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}

fn source(figment: &Figment, name: &str) -> String {
    let Some(metadata) = figment.find_metadata(name) else {
        return "default".into();
    };
    let key = KEYS.iter().find(|key| key.name == name);
    match (&*metadata.name, key) {
        (ENVIRONMENT, Some(key)) => key.variable.into(),
        (FLAGS, Some(key)) => format!("--{}", key.flag),
        _ => {
            let file = metadata.source.as_ref().and_then(|source| source.file_path());
            file.map_or_else(|| "default".into(), |path| path.display().to_string())
        }
    }
}

fn names() -> String {
    KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}
