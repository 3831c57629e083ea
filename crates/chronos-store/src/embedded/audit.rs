//! The audit in the embedded store: the decisions of one step share one record, filed under its first sequence.

use std::ops::ControlFlow;

use chronos_core::Timestamp;
use chronos_core::audit::AuditEvent;
use chronos_core::store::{AuditFilter, AuditPage, AuditWalk, Error, Result};

use super::keys::{Key, Table, sequence_in};
use super::state::{engine, until, visit_entries};
use crate::audit::{self, Digest, Look, Stretch, chapter_of};
use crate::kv::{self, Kv, Order};

/// The sequence of the newest decision; zero when there is none.
pub(super) fn newest(kv: &dyn Kv) -> Result<u64> {
    let (from, to) = Table::Audit.range();
    let last = first_record(kv, &from, &to, Order::Descending)?;
    Ok(last.and_then(|(_, events)| events.last().map(|event| event.sequence)).unwrap_or(0))
}

/// The key of the newest record, and when its newest decision was made.
pub(super) fn newest_record(kv: &dyn Kv) -> Result<Option<(Vec<u8>, Timestamp)>> {
    let (from, to) = Table::Audit.range();
    let last = first_record(kv, &from, &to, Order::Descending)?;
    Ok(last.and_then(|(key, events)| Some((key, events.last()?.at))))
}

/// Visits the decisions of one record after the other, oldest first, until the visitor breaks.
pub(super) fn records(
    kv: &dyn Kv,
    (from, to): (&[u8], &[u8]),
    mut visitor: impl FnMut(&[u8], &[AuditEvent]) -> ControlFlow<()>,
) -> Result<()> {
    visit_entries(kv, (from, to), Order::Ascending, |key, value| {
        Ok(visitor(key, &decode(key, value)?))
    })
}

/// The sequence of the oldest decision that is there; zero when there is none.
fn oldest(kv: &dyn Kv) -> Result<u64> {
    let (from, to) = Table::Audit.range();
    let mut oldest = 0;
    engine(kv.scan(&from, &to, Order::Ascending, &mut |key, _| {
        oldest = sequence_in(key).unwrap_or(0);
        ControlFlow::Break(())
    }))?;
    Ok(oldest)
}

/// Decisions after a sequence, in order.
pub(super) fn after(kv: &dyn Kv, sequence: u64, limit: usize) -> Result<Vec<AuditEvent>> {
    let mut found = Vec::new();
    if limit > 0 {
        visit(kv, (sequence.saturating_add(1), u64::MAX), Order::Ascending, |event| {
            found.push(event);
            found.len() < limit
        })?;
    }
    Ok(found)
}

/// Decisions that a filter asks for. Nothing that is read here ever changes, so nobody waits for it.
pub(super) fn find(
    kv: &dyn Kv,
    filter: &AuditFilter,
    walk: AuditWalk,
    limit: usize,
) -> Result<AuditPage> {
    let mut look = Look::begin(filter, walk, limit, (oldest(kv)?, newest(kv)?));
    let order = if look.newest_first { Order::Descending } else { Order::Ascending };
    while let Some(stretch) = look.stretch() {
        if look.is_narrowed() && !may_hold(kv, &look, stretch)? {
            look.pass(stretch, 1);
            continue;
        }
        let mut enough = false;
        visit(kv, (stretch.first, stretch.last), order, |event| {
            enough = !look.see(event);
            !enough
        })?;
        if !enough {
            look.pass(stretch, 0);
        }
    }
    Ok(look.page())
}

/// Whether a chapter may hold something that is looked for. One without a digest may hold anything.
fn may_hold(kv: &dyn Kv, look: &Look<'_>, stretch: Stretch) -> Result<bool> {
    let digest = engine(kv.get(&Key::Digest(stretch.chapter).encode()))?;
    digest.map_or(Ok(true), |digest| look.wanted.may_be_in(&digest))
}

/// The digest of the newest chapter, as far as that is written.
pub(super) fn unfinished(kv: &dyn Kv, newest: u64) -> Result<Digest> {
    let mut digest = Digest::default();
    let first = chapter_of(newest.saturating_add(1)) * audit::SIZE + 1;
    visit(kv, (first, newest), Order::Ascending, |event| {
        digest.add(&event);
        true
    })?;
    Ok(digest)
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

/// Visits the decisions from one sequence to another until the visitor wants no more.
fn visit(
    kv: &dyn Kv,
    (first, last): (u64, u64),
    order: Order,
    mut visitor: impl FnMut(AuditEvent) -> bool,
) -> Result<()> {
    let (mut from, _) = Table::Audit.range();
    let to = Key::Audit(last.saturating_add(1)).encode();
    // The record that holds the first of them may begin before it.
    let behind = Key::Audit(first.saturating_add(1)).encode();
    engine(kv.scan(&from.clone(), &behind, Order::Descending, &mut |key, _| {
        from = key.to_vec();
        ControlFlow::Break(())
    }))?;
    visit_entries(kv, (&from, &to), order, |key, value| {
        let mut events = decode(key, value)?;
        if order == Order::Descending {
            events.reverse();
        }
        let wanted = |event: &AuditEvent| (first..=last).contains(&event.sequence);
        let more = events.into_iter().filter(wanted).all(&mut visitor);
        Ok(until(usize::from(!more), 1))
    })
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
    found.map(|(key, value)| decode(&key, &value).map(|events| (key, events))).transpose()
}

fn decode(key: &[u8], value: &[u8]) -> Result<Vec<AuditEvent>> {
    let short = || Error::Corrupt("a key is too short".into());
    audit::decode(value, sequence_in(key).ok_or_else(short)?)
}
