//! What a subscription is made of, as flags and as text.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::cli::client::spec_flags::{header, read_secret};
use crate::cli::{Error, args};
use crate::seconds::Seconds;
use crate::text::on_one_line;

#[derive(Debug, clap::Args)]
pub(super) struct Flags {
    /// Send the events of this job, by its id; may come several times
    #[arg(long, value_name = "ID")]
    job: Vec<String>,
    /// Send the events of jobs with such a name, in which * stands for any text
    #[arg(id = "named", long = "name", value_name = "PATTERN")]
    name: Option<String>,
    /// Send the events of jobs that are filed under this
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Send the events of this user's jobs; others than yours are for admins
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Send this header with each event; may come several times
    #[arg(long, value_name = "NAME:VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// The same with a value that is a secret, or in the file after an at sign
    #[arg(long, value_name = "NAME:VALUE", value_parser = header)]
    secret_header: Vec<(String, String)>,
    /// Sign each event with this secret, or the one in the file after an at sign: whsec_ and base64
    #[arg(long, value_name = "SECRET")]
    signing_secret: Option<String>,
    /// Give a request up after this long, such as 10s [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = args::span)]
    timeout: Option<Duration>,
    /// Try an event that is not taken again this often before the subscription is paused [default: 15]
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Wait this long before the first of them, and twice as long before each further one [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = args::span)]
    retry_base: Option<Duration>,
    /// Wait no longer than this between them [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = args::span)]
    retry_max: Option<Duration>,
}

impl Flags {
    /// What the flags change about a subscription. Those about what is heard narrow what was heard before.
    pub(super) fn changes(self, before: &Value) -> Result<Map<String, Value>, Error> {
        let mut body = Map::new();
        let mut filter = before["filter"].as_object().cloned().unwrap_or_default();
        let known = filter.clone();
        if !self.job.is_empty() {
            filter.insert("jobs".into(), self.job.into());
        }
        for (field, given) in [("name", self.name), ("tag", self.tag), ("owner", self.owner)] {
            if let Some(given) = given {
                filter.insert(field.into(), given.into());
            }
        }
        if filter != known {
            body.insert("filter".into(), filter.into());
        }
        if !(self.header.is_empty() && self.secret_header.is_empty()) {
            // Those that are secrets come masked, and the mask keeps them.
            let mut headers = before["headers"].as_object().cloned().unwrap_or_default();
            for (name, value) in self.header {
                headers.insert(name, value.into());
            }
            for (name, value) in self.secret_header {
                let secret = read_secret("--secret-header", &value)?;
                headers.insert(name, json!({"secret": secret}));
            }
            body.insert("headers".into(), headers.into());
        }
        if let Some(secret) = self.signing_secret {
            let secret = read_secret("--signing-secret", &secret)?;
            body.insert("signing_secret".into(), secret.into());
        }
        if let Some(retries) = self.retries {
            body.insert("max_retry".into(), retries.into());
        }
        for (field, given) in [
            ("timeout_seconds", self.timeout),
            ("retry_base_seconds", self.retry_base),
            ("retry_max_seconds", self.retry_max),
        ] {
            if let Some(given) = given {
                body.insert(field.into(), json!(Seconds(given)));
            }
        }
        Ok(body)
    }
}

/// What a subscription hears, in a few words.
pub(super) fn heard(it: &Value) -> String {
    let filter = &it["filter"];
    let jobs = filter["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let jobs: Vec<&str> = jobs.iter().filter_map(Value::as_str).collect();
    let jobs = match *jobs {
        [] => None,
        [job] => Some(format!("job {job}")),
        _ => Some(format!("{} jobs", jobs.len())),
    };
    let said = |field: &str| filter[field].as_str().map(|text| format!("{field} {text}"));
    let parts: Vec<String> =
        [jobs, said("name"), said("tag"), said("owner")].into_iter().flatten().collect();
    if parts.is_empty() {
        return "everything".into();
    }
    on_one_line(&parts.join(", ")).into_owned()
}

/// The names of the headers that are sent.
pub(super) fn headers(it: &Value) -> String {
    let headers = it["headers"].as_object();
    let names: Vec<&str> = headers.iter().flat_map(|it| it.keys()).map(String::as_str).collect();
    on_one_line(&names.join(", ")).into_owned()
}

/// How often and after how long something is tried again.
pub(super) fn retries(it: &Value) -> String {
    let (base, max) = (&it["retry_base_seconds"], &it["retry_max_seconds"]);
    format!("up to {}, after {base} s to {max} s", it["max_retry"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_heard_is_said_in_a_few_words() {
        for (filter, said) in [
            (json!({}), "everything"),
            (json!({"tag": "billing", "name": "nightly-*"}), "name nightly-*, tag billing"),
            (json!({"jobs": ["a"]}), "job a"),
            (json!({"jobs": ["a", "b"], "owner": "u"}), "2 jobs, owner u"),
        ] {
            assert_eq!(heard(&json!({"filter": filter})), said);
        }
    }
}
