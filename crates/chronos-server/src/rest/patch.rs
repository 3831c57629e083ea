//! Patches: changes to what a job is asked to do, merged as RFC 7396 has it.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use chronos_core::plan::Change;
use chronos_core::{Job, JobSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::api::Api;
use super::strict;
use super::wire::job::Asked as Told;
use super::wire::spec::{NewJob, Recurs, body_of};
use crate::auth::Caller;
use crate::problem::{FieldError, Problem};

/// A patch as it is asked for: its payload is kept letter by letter.
pub(super) type Asked = BTreeMap<String, Box<RawValue>>;

/// Changes the job.
pub(super) async fn apply(
    api: &Api,
    caller: &Caller,
    job: Job,
    mut asked: Asked,
    expected: Option<u64>,
) -> Result<Job, Problem> {
    let id = job.spec.id;
    let switch = enabled(&mut asked)?.filter(|enabled| *enabled != job.standing.enabled);
    if asked.is_empty() {
        let change = match switch {
            None => return Ok(job),
            Some(true) => Change::Enable,
            Some(false) => Change::Disable,
        };
        return api.amend(caller, id, change, expected).await;
    }
    if switch.is_some() {
        let problem = "it is switched together with other fields; use a request of its own for it";
        return Err(Problem::invalid(vec![FieldError::new("enabled", problem)]));
    }
    let spec = merged(api, &job.spec, asked)?;
    if spec == *job.spec {
        return Ok(job);
    }
    api.auth.quotas().check(caller, &spec, Some(&job.spec))?;
    if spec.target != job.spec.target {
        let live = api.store_of(id).live(&[id]).await?;
        if live.iter().any(|live| live.running().is_some() && live.notice().is_none()) {
            let detail = format!("job \"{}\" runs; change its target when it does not", spec.name);
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
    }
    // Whoever changed it since it was read here is not to be undone.
    let expected = expected.or(Some(job.spec.version));
    api.amend(caller, id, Change::Edit(Box::new(spec)), expected).await
}

fn enabled(asked: &mut Asked) -> Result<Option<bool>, Problem> {
    let Some(enabled) = asked.remove("enabled") else {
        return Ok(None);
    };
    match enabled.get() {
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        _ => {
            let error = FieldError::new("enabled", "it is not accepted; use true or false");
            Err(Problem::invalid(vec![error]))
        }
    }
}

/// The spec with what is asked for in place of what it said.
pub(super) fn merged(api: &Api, spec: &JobSpec, mut asked: Asked) -> Result<JobSpec, Problem> {
    let payload = asked.remove("payload");
    let mut merged = base(spec);
    for (field, raw) in asked {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut before = merged.remove(&field).unwrap_or_default();
        if field == "notify" {
            forget_wait(&mut before, &value);
        }
        let nested = matches!(field.as_str(), "schedule" | "target" | "notify");
        merged.insert(field, if nested { merge(before, value) } else { value });
    }
    let is_http = merged.get("target").is_some_and(|target| target["type"] == "http");
    let is_kept = is_http && payload.is_none() && !merged.contains_key("payload_base64");
    let body = body_of(spec).filter(|_| is_kept);
    let mut new: NewJob = strict::read_value(Value::Object(merged))?;
    new.payload = payload.filter(|payload| payload.get() != "null");
    let who = (spec.id, &*spec.owner);
    let read = api.defaults().read_json(new, Recurs::Either, who, (Some(spec), body), api.now());
    let read = read.map_err(Problem::invalid)?;
    // An interval that stays as it was keeps its phase.
    let schedule =
        if read.schedule.is_like(&spec.schedule) { spec.schedule.clone() } else { read.schedule };
    let (created_at, version, trace) = (spec.created_at, spec.version, spec.trace);
    Ok(JobSpec { schedule, created_at, version, trace, ..read })
}

/// What the job was asked to do, as a request would say it; its body goes another way.
fn base(spec: &JobSpec) -> Map<String, Value> {
    let mut base = match serde_json::to_value(Told::from(spec)) {
        Ok(Value::Object(base)) => base,
        _ => Map::new(),
    };
    base.remove("payload");
    base.remove("payload_base64");
    base
}

/// How long a run may wait is said of those that are told of, so it goes when those do.
fn forget_wait(before: &mut Value, patch: &Value) {
    let on = patch["on"].as_array();
    if let (Some(on), Some(before)) = (on, before.as_object_mut())
        && !on.iter().any(|kind| kind == "overdue")
    {
        before.remove("overdue_after_seconds");
    }
}

/// RFC 7396, but what changes its type says everything anew.
fn merge(before: Value, patch: Value) -> Value {
    let (Value::Object(mut before), Value::Object(patch)) = (before, patch.clone()) else {
        return patch;
    };
    if patch.get("type").is_some_and(|kind| before.get("type") != Some(kind)) {
        return Value::Object(patch);
    }
    for (field, value) in patch {
        if value.is_null() {
            before.remove(&field);
        } else {
            let inner = before.remove(&field).unwrap_or_default();
            before.insert(field, merge(inner, value));
        }
    }
    Value::Object(before)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_merge_unless_the_type_changes() {
        for (before, patch, after) in [
            (json!({"a": 1, "b": 2}), json!({"b": 3}), json!({"a": 1, "b": 3})),
            (json!({"a": 1, "b": 2}), json!({"b": null}), json!({"a": 1})),
            (json!({"h": {"x": 1}}), json!({"h": {"y": 2}}), json!({"h": {"x": 1, "y": 2}})),
            (json!({"type": "a", "b": 2}), json!({"type": "c"}), json!({"type": "c"})),
            (json!({"type": "a", "b": 2}), json!({"type": "a"}), json!({"type": "a", "b": 2})),
            (json!({"a": 1}), json!(7), json!(7)),
            (json!(null), json!({"a": 1}), json!({"a": 1})),
        ] {
            assert_eq!(merge(before, patch), after);
        }
    }
}
