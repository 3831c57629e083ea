//! `chronos jobs edit`: by flags, or as text in an editor; only what changed is sent.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronos_core::Timestamp;
use serde_json::{Map, Value};

use super::super::spec::Spec;
use super::super::spec_flags::SpecFlags;
use super::super::{Ask, Daemon};
use super::{comparison, get, name, write_changed};
use crate::cli::Error;
use crate::proto;
use crate::text::on_one_line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The job's name or id
    job: String,
    /// Give the job this name
    #[arg(long, value_name = "NAME")]
    rename: Option<String>,
    /// Open the job as JSON in $VISUAL or $EDITOR, after the flags; so does giving no flag at all
    #[arg(long)]
    editor: bool,
    /// Say which runs the change would add, remove and move this week, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    spec: SpecFlags,
}

pub(super) fn run(ask: &Ask, args: Args, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let Args { job, rename, editor, dry_run, spec } = args;
    let editor = editor || (rename.is_none() && spec == SpecFlags::default());
    let sent = ask.daemon(async |mut daemon| {
        let before = get(&mut daemon, job).await?;
        let given = before.spec.as_ref().map(Spec::from).unwrap_or_default();
        let mut asked = spec.spec(given.clone())?;
        if asked.name.is_empty() {
            asked.name.clone_from(&given.name);
        }
        asked.name = rename.unwrap_or(asked.name);
        if !editor {
            return send(&mut daemon, &before, (&given, &asked), dry_run).await;
        }
        let draft = Draft::of(&asked)?;
        open_editor(draft.file.path())?;
        let edited = match draft.read(asked.raw_payload) {
            Ok(spec) => send(&mut daemon, &before, (&given, &spec), dry_run).await,
            Err(error) => Err(error),
        };
        edited.map_err(|error| draft.keep(error, &before))
    })?;
    let (job, changes) = match sent {
        Sent::Nothing => return Ok(writeln!(out, "Nothing changed")?),
        Sent::Compared(told) => return comparison::write(ask, &told, out),
        Sent::Changed(job, changes) => (job, changes),
    };
    write_changed("Changed", ask, &job, now, out)?;
    if !ask.json {
        changes.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    Ok(())
}

/// What became of an edit.
enum Sent {
    /// It says nothing new.
    Nothing,
    /// What it would change about the runs to come.
    Compared(Value),
    /// The job as it is then, and what changed in words.
    Changed(Box<proto::Job>, Vec<String>),
}

/// Sends what differs, if anything does; or has it compared.
async fn send(
    daemon: &mut Daemon,
    before: &proto::Job,
    (given, asked): (&Spec, &Spec),
    dry_run: bool,
) -> Result<Sent, Error> {
    let patch = patch(given, asked)?;
    if patch.is_empty() {
        return Ok(Sent::Nothing);
    }
    let (job, patch) = (format!("/jobs/{}", before.id), Value::Object(patch));
    if dry_run {
        return daemon.rest.post(&format!("{job}/preview"), &patch).await.map(Sent::Compared);
    }
    let told = daemon.rest.patch(&job, &patch, before.version).await?;
    let mut job = get(daemon, before.id.clone()).await?;
    let dropped = told["dropped_secrets"].as_array().into_iter().flatten();
    job.dropped_secrets = dropped.filter_map(Value::as_str).map(ToOwned::to_owned).collect();
    let mut changes = Vec::new();
    describe(&mut changes, "", &to_json(given)?, &patch);
    Ok(Sent::Changed(Box::new(job), changes))
}

/// The job as text, in a file that its owner alone can read.
struct Draft {
    file: tempfile::NamedTempFile,
}

impl Draft {
    fn of(spec: &Spec) -> Result<Self, Error> {
        let file = tempfile::Builder::new().prefix("chronos-").suffix(".json").tempfile();
        let mut file = file.map_err(Error::Machine)?;
        let text = serde_json::to_string_pretty(spec).map_err(io::Error::from)?;
        writeln!(file, "{text}").map_err(|error| unwritten(file.path(), &error))?;
        Ok(Self { file })
    }

    /// What is left of it when the editor is closed. A body that is no text cannot be edited, and stays.
    fn read(&self, raw_payload: Option<Vec<u8>>) -> Result<Spec, Error> {
        let path = self.file.path();
        let text = std::fs::read(path).map_err(|error| unwritten(path, &error))?;
        let mut spec: Spec = serde_json::from_slice(&text)
            .map_err(|error| Error::Rejected(format!("the text is no job: {error}")))?;
        spec.check()?;
        spec.raw_payload = raw_payload.filter(|_| spec.payload.is_none());
        Ok(spec)
    }

    /// The same error, which says where the text is kept that it is about.
    fn keep(self, error: Error, job: &proto::Job) -> Error {
        let Ok((_, path)) = self.file.keep() else {
            return error;
        };
        let (name, path) = (name(job), path.display());
        error.and(format!("your text is kept: chronos jobs edit {name} --editor --file {path}"))
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::File { path: path.into(), problem: error.to_string() }
}

/// Opens the file as the user's other programs do: the setting may have arguments.
fn open_editor(path: &Path) -> Result<(), Error> {
    let set = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = match set("VISUAL").or_else(|| set("EDITOR")) {
        Some(editor) => editor,
        None if io::stdin().is_terminal() => "vi".into(),
        None => {
            let problem =
                "there is no terminal for one, and VISUAL and EDITOR name none; use flags";
            return Err(Error::input("--editor", &problem));
        }
    };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path);
    // What the editor writes is for the terminal, and not a part of the answer.
    let status = shell.stdout(io::stderr()).status().map_err(Error::Machine)?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Refused(format!("the editor \"{editor}\" ended with {status}, so nothing was sent")))
}

fn to_json(spec: &Spec) -> Result<Value, Error> {
    Ok(serde_json::to_value(spec).map_err(io::Error::from)?)
}

/// The fields that a patch is merged into; every other one is said anew.
const MERGED: [&str; 3] = ["schedule", "target", "notify"];

/// What turns one spec into the other, as a merge patch.
fn patch(before: &Spec, after: &Spec) -> Result<Map<String, Value>, Error> {
    let (old, new) = (to_json(before)?, to_json(after)?);
    let mut patch = difference(&old, &new, |field| MERGED.contains(&field));
    if before.raw_payload != after.raw_payload {
        match &after.raw_payload {
            Some(bytes) => {
                patch.remove("payload");
                patch.insert("payload_base64".into(), STANDARD.encode(bytes).into());
            }
            None => drop(patch.entry("payload").or_insert(Value::Null)),
        }
    }
    Ok(patch)
}

/// The fields that differ; null stands for one that is gone.
fn difference(before: &Value, after: &Value, merged: fn(&str) -> bool) -> Map<String, Value> {
    let (none, mut patch) = (Map::new(), Map::new());
    let (old, new) = (before.as_object().unwrap_or(&none), after.as_object().unwrap_or(&none));
    for field in old.keys().filter(|field| !new.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    for (field, value) in new.iter().filter(|(field, value)| old.get(*field) != Some(value)) {
        let known = old.get(field).filter(|known| {
            merged(field)
                && known.is_object()
                && value.is_object()
                && known["type"] == value["type"]
        });
        let change = match known {
            Some(known) => Value::Object(difference(known, value, |_| true)),
            None => value.clone(),
        };
        patch.insert(field.clone(), change);
    }
    patch
}

/// A line for every value that changed, such as `max_retry: 3 → 5`.
fn describe(lines: &mut Vec<String>, path: &str, before: &Value, change: &Value) {
    // What was said anew is shown as one value.
    let merged =
        path.split('.').next().is_some_and(|field| field.is_empty() || MERGED.contains(&field));
    if merged && change.get("type").is_none() && before.is_object() && change.is_object() {
        for (field, change) in change.as_object().into_iter().flatten() {
            let inner = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
            describe(lines, &inner, &before[field], change);
        }
        return;
    }
    let hidden = path.split('.').any(may_be_secret);
    let shown = |value: &Value| match value {
        Value::Null => "(nothing)".to_owned(),
        _ if hidden => "…".to_owned(),
        value => without_secrets(value).to_string(),
    };
    let line = format!("{path}: {} → {}", shown(before), shown(change));
    lines.push(on_one_line(&line).into_owned());
}

/// Whether what is under this name is not written where others can look on.
fn may_be_secret(field: &str) -> bool {
    field == "headers" || field.contains("secret")
}

/// The value, with dots in place of what may be a secret.
fn without_secrets(value: &Value) -> Value {
    let Value::Object(fields) = value else {
        return value.clone();
    };
    let shown = fields.iter().map(|(field, value)| {
        let value = if may_be_secret(field) { "…".into() } else { without_secrets(value) };
        (field.clone(), value)
    });
    Value::Object(shown.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: Value) -> Spec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_patch_holds_what_changed_and_nothing_else() {
        let before = spec(json!({
            "name": "a", "max_retry": 3, "tags": ["x"], "payload": {"k": 1, "l": 2},
            "schedule": {"type": "cron", "expression": "0 9 * * *", "timezone": "Asia/Tokyo"},
            "target": {"type": "http", "url": "http://x/", "headers": {"A": "1", "B": "2"}},
        }));
        assert_eq!(patch(&before, &before).unwrap(), Map::new());
        let after = spec(json!({
            "name": "a", "max_retry": 5, "tags": ["x"], "payload": {"k": 1},
            "schedule": {"type": "cron", "expression": "0 8 * * *", "timezone": "Asia/Tokyo"},
            "target": {"type": "http", "url": "http://x/", "headers": {"B": "3"}},
        }));
        let expected = json!({
            "max_retry": 5, "payload": {"k": 1}, "schedule": {"expression": "0 8 * * *"},
            "target": {"headers": {"A": null, "B": "3"}},
        });
        let patch = Value::Object(patch(&before, &after).unwrap());
        assert_eq!(patch, expected);
        let mut lines = Vec::new();
        describe(&mut lines, "", &to_json(&before).unwrap(), &patch);
        assert_eq!(
            lines,
            [
                "max_retry: 3 → 5",
                "payload: {\"k\":1,\"l\":2} → {\"k\":1}",
                "schedule.expression: \"0 9 * * *\" → \"0 8 * * *\"",
                "target.headers.A: … → (nothing)",
                "target.headers.B: … → …",
            ]
        );
    }

    #[test]
    fn no_secret_is_among_what_changed() {
        let before = json!({"target": {"type": "handler", "name": "a"}, "notify": {"url": "http://x/",
            "headers": {"A": "k1", "B": "k1"}, "signing_secret": "k1"}});
        let after = json!({"target": {"type": "http", "url": "http://y/", "headers": {"A": "k2"},
            "signing_secret": "k2"}, "notify": {"url": "http://y/", "headers": {"A": "k2"}}});
        let patch = Value::Object(difference(&before, &after, |field| MERGED.contains(&field)));
        assert_eq!(patch["notify"]["headers"], json!({"A": "k2", "B": null}));
        let mut lines = Vec::new();
        describe(&mut lines, "", &before, &patch);
        let text = lines.join("\n");
        assert!(!text.contains("k1") && !text.contains("k2"), "{text}");
        for part in [
            "notify.url: \"http://x/\" → \"http://y/\"",
            "notify.headers.B: … → (nothing)",
            "notify.signing_secret: … → (nothing)",
            "\"url\":\"http://y/\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_changes_its_type_is_said_anew() {
        let before = spec(json!({"schedule": {"type": "cron", "expression": "0 9 * * *"}}));
        let after = spec(json!({"schedule": {"type": "interval", "seconds": 60}}));
        let patch = Value::Object(patch(&before, &after).unwrap());
        assert_eq!(patch, json!({"schedule": {"type": "interval", "seconds": 60}}));
    }
}
