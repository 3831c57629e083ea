//! Leaks: canaries in every place for secrets, looked for in everything that is written or told.

mod copies;
mod logs;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// In a secret header of a job, its signing secret, and the same of its webhook.
const HEADER: &str = "canary-of-the-header";
const SIGNING: &str = "whsec_Y2FuYXJ5LW9mLXRoZS1zaWduYXR1cmVz";
const NOTICE_HEADER: &str = "canary-of-the-notice";
const NOTICE_SIGNING: &str = "whsec_Y2FuYXJ5LW9mLW5vdGljZS1zaWduaW5n";
/// In the query of a URL, of the webhook's URL, and in a body: no secrets, and still nothing for a log.
const QUERY: &str = "canary-of-the-query";
const NOTICE_QUERY: &str = "canary-of-the-other-query";
const BODY: &str = "canary-of-the-body";
/// In a plain header: wherever jobs are kept, this is to be found.
const PLAIN: &str = "plain-and-to-be-found";

/// What nobody is told and nothing keeps as it is.
fn secrets() -> [&'static str; 4] {
    [HEADER, &SIGNING["whsec_".len()..], NOTICE_HEADER, &NOTICE_SIGNING["whsec_".len()..]]
}

/// A job with a canary in every place for one, which calls this and tells this webhook of failures.
fn canaries(name: &str, url: &str, webhook: &str) -> Value {
    json!({
        "name": name,
        "schedule": {"type": "interval", "seconds": 3_600},
        "target": {
            "type": "http", "url": format!("{url}?token={QUERY}"), "signing_secret": SIGNING,
            "headers": {"Authorization": {"secret": HEADER}, "X-Plain": PLAIN}, "timeout_seconds": 2,
        },
        "payload": {"note": BODY},
        "max_retry": 1, "retry_base_seconds": 0.01,
        "notify": {
            "url": format!("{webhook}?token={NOTICE_QUERY}"), "on": ["failure"],
            "headers": {"X-Key": {"secret": NOTICE_HEADER}}, "signing_secret": NOTICE_SIGNING,
        },
    })
}

/// Bytes as PostgreSQL prints them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

/// Whether any file below a directory holds these bytes.
fn holds(directory: &Path, bytes: &[u8]) -> Option<PathBuf> {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let found = if kind.is_dir() {
            holds(&path, bytes)
        } else if kind.is_file() {
            // A server may take a file away while it is looked for.
            let kept = fs::read(&path).unwrap_or_default();
            kept.windows(bytes.len()).any(|window| window == bytes).then_some(path)
        } else {
            None
        };
        if found.is_some() {
            return found;
        }
    }
    None
}
