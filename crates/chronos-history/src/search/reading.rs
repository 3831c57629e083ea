//! What the journal, the messages and the table of contents have to say, as documents.

use std::borrow::Cow;
use std::hash::Hasher as _;

use chronos_core::audit::{AuditEvent, Decision, EndingKind};
use chronos_core::execution::{CancelCause, Run, SkipReason, State, Trigger};
use chronos_core::store::JournalEntry;
use chronos_core::{Execution, MessageEvent};
use siphasher::sip::SipHasher13;

use super::document::{Document, Kind, Record, beginning};
use crate::node::Node;
use crate::{Level, Period, reason_of};

/// Bytes of each text of a document that are indexed.
const INDEXED: usize = 64 * 1_024;

/// Places of documents that were not read from the journal begin with these bits.
const MESSAGE: u64 = 1 << 62;
const NODE: u64 = 1 << 63;
const BELOW: u64 = MESSAGE - 1;

/// The document of an entry of the journal. That a slot fired as planned has none: the end of its execution
/// is found under that type as well.
pub(super) fn of_entry(entry: &JournalEntry, name: &str) -> Option<Document> {
    let JournalEntry { event, ended } = entry;
    let (decision, own) = (&event.decision, event.decision.kind());
    if let Some(ended) = ended.as_deref().filter(|ended| ended.notice().is_none()) {
        return Some(of_execution(event, ended, name));
    }
    let mut document = of_event(event, Kind::Audit, name);
    document.text = decision.summary();
    match decision {
        Decision::Fired { trigger: Trigger::Schedule, instead_of: None, .. } => return None,
        // The execution is no longer kept.
        Decision::Ended { ending, .. } => {
            document.record.kind = Kind::Execution;
            document.record.status = Some(status_of(*ending).into());
            document.text = String::new();
            document.types = vec![own];
        }
        Decision::Skipped { reason, .. } => {
            document.record.status = Some(status_of(EndingKind::Skipped).into());
            document.record.reason = Some(word_for(reason).into());
        }
        Decision::CancelRequested { cause, .. } => {
            document.record.reason = Some(cause_of(*cause).into());
        }
        Decision::Reconciled(done) => document.record.node = Some(done.worker.as_str().into()),
        _ => {}
    }
    if let Some(notice) = ended.as_deref() {
        let run = notice.run();
        document.record.node = run.map(|run| run.worker.as_str().into());
        document.record.response = response_of(run);
        document.record.took = run.map(|run| run.took);
        let said = [Some(&*document.text), notice.error()];
        document.text = joined(&said);
        document.output = output_of(run);
    }
    Some(document)
}

/// The document of a message.
pub(super) fn of_message(event: &MessageEvent) -> Document {
    let message = &event.message;
    let record = Record {
        job: Some(message.job),
        name: message.job_name.clone(),
        execution: Some(message.id),
        event: Kind::Message.as_str().into(),
        ..Record::new(Kind::Message, message.occurred_at, &message.actor)
    };
    Document {
        record,
        place: MESSAGE | (event.sequence & BELOW),
        key: None,
        types: vec![Kind::Message.as_str()],
        text: joined(&[message.text.as_deref()]),
        output: joined(&[message.structured.as_deref()]),
    }
}

/// The type under which nodes of a level are found.
pub(super) fn type_of(level: Level) -> &'static str {
    match level {
        Level::Hour => "toc.hour",
        Level::Day => "toc.day",
        Level::Week => "toc.week",
        Level::Month => "toc.month",
        Level::Year => "toc.year",
    }
}

/// Under what the document of a node is found, to be replaced.
pub(super) fn key_of(owner: &str, period: Period) -> String {
    format!("{period} {owner}")
}

/// The document of a node of the table of contents, on the shelf of an owner or on everyone's.
pub(super) fn of_node(owner: &str, node: &Node) -> Document {
    let id = node.period.to_string();
    let own = type_of(node.period.level());
    let record = Record {
        event: own.into(),
        name: node.period.title().into(),
        period: Some(node.period),
        ..Record::new(Kind::Toc, node.period.start(), owner)
    };
    let key = key_of(owner, node.period);
    let mut hasher = SipHasher13::new();
    hasher.write(key.as_bytes());
    let notes = node.summary.bullets.iter().map(|bullet| Some(&*bullet.text));
    let said: Vec<_> = std::iter::once(Some(&*record.name)).chain(notes).collect();
    let text = joined(&said);
    let keywords = node.summary.keywords.join(" ");
    Document {
        record,
        place: NODE | (hasher.finish() & BELOW),
        key: Some(key.into()),
        types: vec![own],
        text,
        output: joined(&[Some(&id), Some(&keywords)]),
    }
}

fn of_event(event: &AuditEvent, kind: Kind, name: &str) -> Document {
    let own = event.decision.kind();
    let record = Record {
        job: event.job,
        name: name.into(),
        execution: event.decision.execution(),
        event: own.into(),
        ..Record::new(kind, event.at, &event.owner)
    };
    let place = event.sequence & BELOW;
    let (text, output) = (String::new(), String::new());
    Document { record, place, key: None, types: vec![own], text, output }
}

fn of_execution(event: &AuditEvent, ended: &Execution, name: &str) -> Document {
    let mut document = of_event(event, Kind::Execution, name);
    let run = ended.run();
    let record = &mut document.record;
    record.at = ended.finished_at().unwrap_or(event.at);
    record.status = Some(ended.status().to_lowercase().into());
    record.reason = match &ended.state {
        State::Cancelled { cause, .. } => Some(cause_of(*cause).into()),
        State::Skipped { reason, .. } => Some(word_for(reason).into()),
        _ => None,
    };
    record.node = run.map(|run| run.worker.as_str().into());
    record.response = response_of(run);
    record.took = run.map(|run| run.took);
    if ended.trigger == Trigger::Schedule {
        document.types.push("schedule.fired");
    }
    document.text = joined(&[ended.error(), ended.reason(), ended.note()]);
    document.output = output_of(run);
    document
}

fn output_of(run: Option<&Run>) -> String {
    let Some(run) = run else { return String::new() };
    let body = run.response.as_deref().map(|response| String::from_utf8_lossy(&response.body));
    joined(&[run.log.as_deref(), body.as_deref()])
}

fn response_of(run: Option<&Run>) -> Option<u16> {
    Some(run?.response.as_deref()?.status)
}

/// Texts one after the other, each within its bound.
fn joined(texts: &[Option<&str>]) -> String {
    let texts = texts.iter().flatten().filter(|text| !text.is_empty());
    let texts: Vec<&str> = texts.map(|text| beginning(text, INDEXED)).collect();
    texts.join("\n")
}

fn status_of(ending: EndingKind) -> &'static str {
    match ending {
        EndingKind::Success => "success",
        EndingKind::Failed => "failed",
        EndingKind::TimedOut => "timed_out",
        EndingKind::Stuck => "stuck",
        EndingKind::Cancelled => "cancelled",
        EndingKind::Skipped => "skipped",
    }
}

/// Why something was skipped: in one word, unless the job said it in its own.
fn word_for(reason: &SkipReason) -> Cow<'_, str> {
    match reason {
        SkipReason::ByJob(own) => beginning(own, 200).to_lowercase().into(),
        reason => reason_of(reason).into(),
    }
}

fn cause_of(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::User => "user",
        CancelCause::Replaced => "replaced",
        CancelCause::JobDeleted => "job_deleted",
        CancelCause::Shutdown => "shutdown",
    }
}
