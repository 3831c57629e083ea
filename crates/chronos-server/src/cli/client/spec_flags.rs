//! A job as flags: each overrides what a file or the job itself says.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::schedule::Zone;
use clap::ArgGroup;
use serde_json::Value;

use super::notify::NotifyFlags;
use super::spec::{CatchUp, Overlap, Schedule, Seconds, Spec, Target};
use super::target::{Template, post};
use crate::cli::{Error, args};
use crate::secrets::{HeaderValue, SecretText};

/// Nothing larger is read from a file or from standard input.
const LARGEST_FILE: u64 = 16 << 20;

#[derive(Debug, Default, PartialEq, clap::Args)]
#[command(
    group = ArgGroup::new("cadence").args(["cron", "every", "at"]),
    group = ArgGroup::new("kind").args(["url", "http", "handler", "message"]),
    group = ArgGroup::new("content").args(["body", "body_file"]),
)]
pub(super) struct SpecFlags {
    /// Read the job from this JSON file, or from standard input for "-"; flags go over it
    #[arg(long, short, value_name = "FILE", help_heading = "The job")]
    file: Option<PathBuf>,
    /// What to file the job under, in place of what it has; may be repeated
    #[arg(long, value_name = "TAG", help_heading = "The job")]
    tag: Vec<String>,

    /// Run at the times of this cron expression
    #[arg(long, value_name = "EXPR", help_heading = "When")]
    cron: Option<String>,
    /// The time zone whose clocks --cron is read by [default: the daemon's]
    #[arg(long, value_name = "ZONE", value_parser = args::zone, help_heading = "When")]
    tz: Option<Zone>,
    /// Run at this distance
    #[arg(long, value_name = "SPAN", value_parser = args::every, help_heading = "When")]
    every: Option<Duration>,
    /// Count --every from the end of the run before
    #[arg(long, help_heading = "When")]
    fixed_delay: bool,
    /// Run once, at this instant in RFC 3339
    #[arg(long, value_name = "INSTANT", value_parser = args::instant, help_heading = "When")]
    at: Option<Timestamp>,
    /// No run before this instant
    #[arg(long, value_name = "INSTANT", value_parser = args::instant, help_heading = "When")]
    start_at: Option<Timestamp>,
    /// No run after this instant
    #[arg(long, value_name = "INSTANT", value_parser = args::instant, help_heading = "When")]
    end_at: Option<Timestamp>,
    /// No more runs than this in all
    #[arg(long, value_name = "N", help_heading = "When")]
    max_runs: Option<u64>,

    /// Call this URL, with POST
    #[arg(long, value_name = "URL", help_heading = "What")]
    url: Option<String>,
    /// Call this URL with this method
    #[arg(long, num_args = 2, value_names = ["METHOD", "URL"], help_heading = "What")]
    http: Option<Vec<String>>,
    /// Run the handler that the daemon knows by this name
    #[arg(long, value_name = "NAME", help_heading = "What")]
    handler: Option<String>,
    /// Emit a message event with this text, in which {{slot}} and the like are filled in
    #[arg(long, value_name = "TEXT", help_heading = "What")]
    message: Option<String>,
    /// Emit a message event with this JSON, in whose strings the same is filled in
    #[arg(long, value_name = "JSON", value_parser = json, help_heading = "What",
        conflicts_with_all = ["url", "http", "handler"])]
    message_json: Option<Value>,
    /// A header of the request, such as "Authorization: Bearer …"; may be repeated
    #[arg(long, value_name = "NAME:VALUE", value_parser = header, help_heading = "What")]
    header: Vec<(String, String)>,
    /// A header whose value is stored encrypted and shown to nobody; NAME:@FILE reads a file, NAME:@-
    /// standard input
    #[arg(long, value_name = "NAME:VALUE", value_parser = header, help_heading = "What")]
    secret_header: Vec<(String, String)>,
    /// Sign requests as Standard Webhooks has it, with whsec_…; @FILE reads a file, @- standard input
    #[arg(long, value_name = "SECRET", help_heading = "What")]
    signing_secret: Option<String>,
    /// The body of the request; @FILE reads a file, @- standard input
    #[arg(long, value_name = "TEXT", help_heading = "What")]
    body: Option<String>,
    /// Read the body of the request from this file, or from standard input for "-"
    #[arg(long, value_name = "FILE", help_heading = "What")]
    body_file: Option<PathBuf>,
    /// How long the request may take [default: 30s]
    #[arg(long, value_name = "SPAN", value_parser = args::span, help_heading = "What")]
    timeout: Option<Duration>,
    /// Statuses that count as success, such as 200,204 [default: 200 to 299]
    #[arg(long, value_name = "CODES", value_delimiter = ',', help_heading = "What")]
    expect: Vec<u32>,

    /// While a run goes on: skip, concurrent[:N], queue[:N] or replace [default: skip]
    #[arg(long, value_name = "POLICY", value_parser = overlap, help_heading = "Policies")]
    overlap: Option<(Overlap, Option<u32>)>,
    /// Slots that were missed: skip, once or all:N [default: skip, of --at once]
    #[arg(long, value_name = "POLICY", value_parser = catch_up, help_heading = "Policies")]
    catch_up: Option<(CatchUp, Option<u32>)>,
    /// How late a slot may fire and still count as on time
    #[arg(long, value_name = "SPAN", value_parser = args::span, help_heading = "Policies")]
    grace: Option<Duration>,
    /// Do not catch up slots that were missed longer ago
    #[arg(long, value_name = "SPAN", value_parser = args::span, help_heading = "Policies")]
    catch_up_window: Option<Duration>,
    /// Which runs go first when several wait for a worker: 0 to 9, the highest first [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=9), help_heading = "Policies")]
    priority: Option<u32>,
    /// Spread the start of each run over this window
    #[arg(long, value_name = "SPAN", value_parser = args::whole_seconds, help_heading = "Policies")]
    jitter: Option<Duration>,
    /// How often a failed run is tried again
    #[arg(long, value_name = "N", help_heading = "Policies")]
    retries: Option<u32>,
    /// The delay before the first retry; doubles with every further one
    #[arg(long, value_name = "SPAN", value_parser = args::span, help_heading = "Policies")]
    retry_base: Option<Duration>,
    /// The longest delay before a retry
    #[arg(long, value_name = "SPAN", value_parser = args::span, help_heading = "Policies")]
    retry_max: Option<Duration>,
    /// Stop a run after this long
    #[arg(long, value_name = "SPAN", value_parser = args::span, help_heading = "Policies")]
    max_time: Option<Duration>,
    /// The quiet-hours policy to observe, or none
    #[arg(long, value_name = "ID", help_heading = "Policies")]
    quiet_hours: Option<String>,

    #[command(flatten)]
    notify: NotifyFlags,
}

impl SpecFlags {
    /// What the file says, or `otherwise`, with the flags over it.
    pub(super) fn spec(self, otherwise: Spec) -> Result<Spec, Error> {
        let mut spec: Spec = match &self.file {
            Some(file) => {
                let bytes = read("--file", file)?;
                serde_json::from_slice(&bytes).map_err(|error| {
                    let problem = format!("{}: {error}", file.display());
                    Error::input("--file", &problem)
                })?
            }
            None => otherwise,
        };
        spec.check()?;
        if !self.tag.is_empty() {
            spec.tags.clone_from(&self.tag);
        }
        self.set_when(&mut spec)?;
        self.set_what(&mut spec)?;
        self.notify.set(&mut spec.notify)?;
        self.set_policies(&mut spec);
        Ok(spec)
    }

    fn set_when(&self, spec: &mut Spec) -> Result<(), Error> {
        let timezone = self.tz.map(|zone| zone.name().to_owned());
        if let Some(at) = self.at {
            spec.schedule = Some(Schedule::OneShot { at });
        } else if let Some(every) = self.every {
            spec.schedule = Some(Schedule::every(every.as_secs()));
        } else if let Some(expression) = &self.cron {
            spec.schedule = Some(Schedule::cron(expression));
        }
        let only = |flag, what: &str| Err(Error::input(flag, &format!("only for {what}")));
        match (&mut spec.schedule, timezone) {
            (_, None) => {}
            (Some(Schedule::Cron { timezone, .. }), Some(zone)) => *timezone = zone,
            _ => return only("--tz", "--cron"),
        }
        match &mut spec.schedule {
            _ if !self.fixed_delay => {}
            Some(Schedule::Interval { fixed_delay, .. }) => *fixed_delay = true,
            _ => return only("--fixed-delay", "--every"),
        }
        if let Some((start_at, end_at, max_runs)) =
            spec.schedule.as_mut().and_then(Schedule::bounds)
        {
            *start_at = self.start_at.or(*start_at);
            *end_at = self.end_at.or(*end_at);
            *max_runs = self.max_runs.or(*max_runs);
            return Ok(());
        }
        let given = [
            ("--start-at", self.start_at.is_some()),
            ("--end-at", self.end_at.is_some()),
            ("--max-runs", self.max_runs.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => only(flag, "--cron and --every"),
            None => Ok(()),
        }
    }

    fn set_what(&self, spec: &mut Spec) -> Result<(), Error> {
        if let Some(name) = self.handler.clone() {
            spec.target = Some(Target::Handler { name });
        }
        if self.message.is_some() || self.message_json.is_some() {
            let (text, structured) = (self.message.clone(), self.message_json.clone());
            spec.target = Some(Target::Message { template: Template { text, structured } });
        }
        let called = match (&self.url, self.http.as_deref()) {
            (Some(url), _) => Some((post(), url.clone())),
            (None, Some([method, url])) => Some((method.to_uppercase(), url.clone())),
            _ => None,
        };
        if let Some((method, url)) = called {
            spec.target = Some(Target::http(method, url));
        }
        let body = self.read_body()?;
        let (given, signing) = (self.read_headers()?, self.read_signing()?);
        if let Some(Target::Http {
            headers,
            signing_secret,
            timeout_seconds,
            expected_statuses,
            ..
        }) = &mut spec.target
        {
            for (name, value) in given {
                headers.retain(|known, _| !known.eq_ignore_ascii_case(&name));
                headers.insert(name, value);
            }
            *signing_secret = signing.or(signing_secret.take());
            *timeout_seconds = self.timeout.map(Seconds).or(*timeout_seconds);
            if !self.expect.is_empty() {
                expected_statuses.clone_from(&self.expect);
            }
            if body.is_some() {
                (spec.payload, spec.raw_payload) = (None, body);
            }
            return Ok(());
        }
        let given = [
            ("--header", !self.header.is_empty()),
            ("--secret-header", !self.secret_header.is_empty()),
            ("--signing-secret", signing.is_some()),
            ("--body", body.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--expect", !self.expect.is_empty()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Error::input(flag, &"only for --url and --http")),
            None => Ok(()),
        }
    }

    /// The headers, those that are secrets last.
    fn read_headers(&self) -> Result<Vec<(String, HeaderValue)>, Error> {
        let plain = self.header.iter().cloned();
        let mut headers: Vec<(String, HeaderValue)> =
            plain.map(|(name, value)| (name, HeaderValue::Plain(value))).collect();
        for (name, value) in &self.secret_header {
            let secret = read_secret("--secret-header", value)?;
            headers.push((name.clone(), HeaderValue::Secret { secret }));
        }
        Ok(headers)
    }

    /// What requests are signed with.
    fn read_signing(&self) -> Result<Option<SecretText>, Error> {
        let signing = self.signing_secret.as_deref();
        let signing = signing.map(|text| read_secret("--signing-secret", text)).transpose()?;
        Ok(signing.map(SecretText))
    }

    fn read_body(&self) -> Result<Option<Vec<u8>>, Error> {
        if let Some(file) = &self.body_file {
            return read("--body-file", file).map(Some);
        }
        match self.body.as_deref() {
            None => Ok(None),
            Some(text) => match text.strip_prefix('@') {
                Some(file) => read("--body", Path::new(file)).map(Some),
                None => Ok(Some(text.as_bytes().to_vec())),
            },
        }
    }

    fn set_policies(self, spec: &mut Spec) {
        if let Some((policy, limit)) = self.overlap {
            spec.overlap_policy = policy;
            spec.max_concurrent = limit.filter(|_| policy == Overlap::Concurrent);
            spec.max_queued = limit.filter(|_| policy == Overlap::Queue);
        }
        if let Some((policy, max)) = self.catch_up {
            (spec.catch_up_policy, spec.catch_up_max) = (Some(policy), max);
        }
        let set = |field: &mut Option<Seconds>, flag: Option<Duration>| {
            *field = flag.map(Seconds).or(*field);
        };
        set(&mut spec.misfire_grace_seconds, self.grace);
        set(&mut spec.catch_up_window_seconds, self.catch_up_window);
        set(&mut spec.retry_base_seconds, self.retry_base);
        set(&mut spec.retry_max_seconds, self.retry_max);
        set(&mut spec.max_execution_time, self.max_time);
        spec.jitter_seconds = self.jitter.map_or(spec.jitter_seconds, |jitter| jitter.as_secs());
        spec.priority = self.priority.or(spec.priority);
        spec.max_retry = self.retries.unwrap_or(spec.max_retry);
        let quiet_hours = self.quiet_hours.or(spec.quiet_hours_policy_id.take());
        spec.quiet_hours_policy_id = quiet_hours.filter(|policy| policy != "none");
    }
}

/// The bytes of a file, or of standard input for "-".
fn read(flag: &'static str, file: &Path) -> Result<Vec<u8>, Error> {
    let source: std::io::Result<Box<dyn Read>> = if file == Path::new("-") {
        Ok(Box::new(std::io::stdin()))
    } else {
        std::fs::File::open(file).map(|file| Box::new(file) as Box<dyn Read>)
    };
    let mut bytes = Vec::new();
    let read = source.and_then(|source| source.take(LARGEST_FILE + 1).read_to_end(&mut bytes));
    let problem = match read {
        Err(error) => error.to_string(),
        Ok(_) if bytes.len() as u64 > LARGEST_FILE => "larger than 16 MiB".into(),
        Ok(_) => return Ok(bytes),
    };
    Err(Error::input(flag, &format!("cannot read {}: {problem}", file.display())))
}

/// A secret as it is typed or, better kept out of a shell's history, in the file after an at sign.
pub(super) fn read_secret(flag: &'static str, text: &str) -> Result<String, Error> {
    let Some(file) = text.strip_prefix('@') else {
        return Ok(text.into());
    };
    let bytes = read(flag, Path::new(file))?;
    let text = String::from_utf8(bytes).map_err(|_| Error::input(flag, &"the file is no text"))?;
    Ok(text.trim_end_matches(['\r', '\n']).into())
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    let header = text.split_once(':').filter(|(name, _)| !name.trim().is_empty());
    let header = header.map(|(name, value)| (name.trim().into(), value.trim().into()));
    header.ok_or_else(|| "it is not accepted; use NAME:VALUE".to_owned())
}

fn overlap(text: &str) -> Result<(Overlap, Option<u32>), String> {
    let accepted = match split_limit(text) {
        ("skip", Ok(None)) => Some((Overlap::Skip, None)),
        ("replace", Ok(None)) => Some((Overlap::Replace, None)),
        ("concurrent", Ok(limit)) => Some((Overlap::Concurrent, limit)),
        ("queue", Ok(limit)) => Some((Overlap::Queue, limit)),
        _ => None,
    };
    accepted.ok_or_else(|| {
        format!("\"{text}\" is not accepted; use skip, concurrent, concurrent:N, queue, queue:N or replace")
    })
}

fn catch_up(text: &str) -> Result<(CatchUp, Option<u32>), String> {
    let accepted = match split_limit(text) {
        ("skip", Ok(None)) => Some((CatchUp::Skip, None)),
        ("once", Ok(None)) => Some((CatchUp::RunOnce, None)),
        ("all", Ok(Some(max))) => Some((CatchUp::RunAllCapped, Some(max))),
        _ => None,
    };
    accepted.ok_or_else(|| format!("\"{text}\" is not accepted; use skip, once or all:N"))
}

/// `queue` and 3 of `queue:3`.
fn split_limit(text: &str) -> (&str, Result<Option<u32>, ()>) {
    match text.split_once(':') {
        None => (text, Ok(None)),
        Some((policy, limit)) => {
            let limit = limit.parse().ok().filter(|limit| *limit > 0);
            (policy, limit.map(Some).ok_or(()))
        }
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))
}
