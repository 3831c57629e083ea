//! Documents: what can be found, and what is shown of it once it was.

use std::time::Duration;

use chronos_core::{ExecutionId, JobId, Timestamp};
use serde::{Deserialize, Serialize};
use tantivy::TantivyDocument;

use super::schema::{Fields, Tag};
use crate::Period;

/// Bytes of a text that snippets are made from.
const SHOWN: usize = 2 * 1_024;

/// What sort of thing a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An execution that came to its end.
    Execution,
    /// A decision, other than the end of an execution.
    Audit,
    /// A message that a job emitted.
    Message,
    /// A node of the table of contents.
    Toc,
}

impl Kind {
    /// Every kind there is.
    pub const ALL: [Self; 4] = [Self::Execution, Self::Audit, Self::Message, Self::Toc];

    /// The kind's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Execution => "execution",
            Self::Audit => "audit",
            Self::Message => "message",
            Self::Toc => "toc",
        }
    }
}

/// What is shown of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What sort of thing it is.
    pub kind: Kind,
    /// When it happened; of a period, when it began.
    pub at: Timestamp,
    /// Whose it is; empty where it is nobody's.
    pub owner: Box<str>,
    /// The job that it is about.
    pub job: Option<JobId>,
    /// What people called the job when this was read; of a period, its title.
    pub name: Box<str>,
    /// The execution that it is about.
    pub execution: Option<ExecutionId>,
    /// The period, of a node of the table of contents.
    pub period: Option<Period>,
    /// Its type, such as `schedule.paused`, `execution.failed`, `message` or `toc.day`.
    pub event: Box<str>,
    /// How it ended.
    pub status: Option<Box<str>>,
    /// Why it was skipped or cancelled.
    pub reason: Option<Box<str>>,
    /// The node that ran it, or that it is about.
    pub node: Option<Box<str>>,
    /// What its target answered.
    pub response: Option<u16>,
    /// How long it took.
    pub took: Option<Duration>,
    /// The beginning of what was said about it.
    pub(super) text: Box<str>,
    /// The beginning of what it left behind.
    pub(super) output: Box<str>,
}

/// Something that can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(super) record: Record,
    /// Tells it from every other.
    pub(super) place: u64,
    /// What it replaces one of the same of, if it may.
    pub(super) key: Option<Box<str>>,
    /// Its type, and others under which it is found.
    pub(super) types: Vec<&'static str>,
    /// What was said about it.
    pub(super) text: String,
    /// What it left behind.
    pub(super) output: String,
}

impl Record {
    /// A record of which nothing is known but what it is, when it was and whose.
    pub(super) fn new(kind: Kind, at: Timestamp, owner: &str) -> Self {
        Self {
            kind,
            at,
            owner: owner.into(),
            job: None,
            name: Box::default(),
            execution: None,
            period: None,
            event: Box::default(),
            status: None,
            reason: None,
            node: None,
            response: None,
            took: None,
            text: Box::default(),
            output: Box::default(),
        }
    }
}

impl Document {
    /// What the index is given.
    pub(super) fn into_indexed(mut self, fields: &Fields) -> TantivyDocument {
        self.record.text = beginning(&self.text, SHOWN).into();
        self.record.output = beginning(&self.output, SHOWN).into();
        let mut indexed = TantivyDocument::new();
        indexed.add_i64(fields.at, self.record.at.as_micros());
        indexed.add_u64(fields.place, self.place);
        for (field, text) in [
            (fields.name, if self.record.job.is_some() { &*self.record.name } else { "" }),
            (fields.text, &self.text),
            (fields.output, &self.output),
            (fields.node, self.record.node.as_deref().unwrap_or_default()),
            (fields.key, self.key.as_deref().unwrap_or_default()),
        ] {
            if !text.is_empty() {
                indexed.add_text(field, text);
            }
        }
        let job = self.record.job.map(|job| job.to_string());
        let owner = Some(&*self.record.owner).filter(|owner| !owner.is_empty());
        let is_private = self.record.kind == Kind::Toc && owner.is_some();
        let tags = [
            Some(Tag::Kind(self.record.kind.as_str())),
            self.record.status.as_deref().map(Tag::Status),
            owner.map(Tag::Owner),
            self.record.reason.as_deref().map(Tag::Reason),
            job.as_deref().map(Tag::Job),
            is_private.then_some(Tag::Private),
        ];
        let types = self.types.iter().copied().map(Tag::Type);
        for tag in tags.into_iter().flatten().chain(types) {
            indexed.add_text(fields.tags, tag.encode());
        }
        // A record that cannot be encoded cannot be shown; it is found all the same.
        if let Ok(record) = postcard::to_allocvec(&self.record) {
            indexed.add_bytes(fields.record, &record);
        }
        indexed
    }
}

/// As much of a text as fits into so many bytes.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
