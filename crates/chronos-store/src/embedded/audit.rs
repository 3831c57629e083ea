//! Audit records: the decisions of one step share one record, filed under its first sequence.

use std::ops::ControlFlow;

use chronos_core::audit::AuditEvent;
use chronos_core::store::Result;

use super::keys::{Key, Table};
use super::record::decode;
use super::state::{engine, until, visit_entries};
use crate::kv::{self, Kv, Order};

/// The sequence of the newest decision; zero when there is none.
pub(super) fn newest(kv: &dyn Kv) -> Result<u64> {
    let (from, to) = Table::Audit.range();
    let last = first_record(kv, &from, &to, Order::Descending)?;
    Ok(last.and_then(|(_, events)| events.last().map(|event| event.sequence)).unwrap_or(0))
}

/// Decisions after a sequence, in order.
pub(super) fn after(kv: &dyn Kv, sequence: u64, limit: usize) -> Result<Vec<AuditEvent>> {
    let (mut from, to) = Table::Audit.range();
    // The record that holds the next decision may begin before it.
    let next = Key::Audit(sequence.saturating_add(2)).encode();
    if let Some((key, _)) = first_record(kv, &from, &next, Order::Descending)? {
        from = key;
    }
    let mut found = Vec::new();
    visit_entries(kv, (&from, &to), Order::Ascending, |_, value| {
        let events: Vec<AuditEvent> = decode(value)?;
        found.extend(events.into_iter().filter(|event| event.sequence > sequence));
        Ok(until(found.len(), limit))
    })?;
    found.truncate(limit);
    Ok(found)
}

/// The keys of records that hold nothing newer than `sequence`, oldest first, up to a few.
pub(super) fn expired(kv: &dyn Kv, sequence: u64) -> Result<Vec<kv::Key>> {
    let (from, _) = Table::Audit.range();
    let to = Key::Audit(sequence.saturating_add(1)).encode();
    let mut keys: Vec<kv::Key> = Vec::new();
    engine(kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
        keys.push(key.into());
        if keys.len() < 64 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }))?;
    // The last of them may reach past the limit; it goes with a later step.
    keys.pop();
    Ok(keys)
}

fn first_record(
    kv: &dyn Kv,
    from: &[u8],
    to: &[u8],
    order: Order,
) -> Result<Option<(Vec<u8>, Vec<AuditEvent>)>> {
    let mut found = None;
    engine(kv.scan(from, to, order, &mut |key, value| {
        found = Some((key.to_vec(), value.to_vec()));
        ControlFlow::Break(())
    }))?;
    found.map(|(key, value)| Ok((key, decode(&value)?))).transpose()
}
