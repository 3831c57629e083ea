//! Digests: what a chapter of the audit may hold, in a few bits, so that whoever looks for something reads
//! few chapters and not all.
//!
//! A chapter is as many decisions as its number and the next one's are apart. An index by job, by user and by
//! trace would cost every decision as many writes; a digest costs one for thousands, and answers all of it.

use std::hash::Hasher as _;
use std::sync::Arc;

use chronos_core::Timestamp;
use chronos_core::audit::AuditEvent;
use chronos_core::store::{AuditFilter, Error, Result, group};
use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// Decisions of a chapter: fewer, and there are more digests to look at; more, and each chapter that is read
/// takes longer.
pub(crate) const SIZE: u64 = 4_096;
/// Bytes of a digest's bits, so that it fits into a page of a database with all that belongs to it.
const BYTES: usize = 7_680;
/// Bits that are set for each thing there is in a chapter. Of a chapter about as many jobs and runs as it has
/// decisions, one in two hundred is read in vain.
const PROBES: u64 = 5;

/// The chapter that a decision is in.
pub(crate) fn chapter_of(sequence: u64) -> u64 {
    sequence.saturating_sub(1) / SIZE
}

/// What may be in a chapter.
pub(crate) struct Digest {
    /// When the first and the last of its decisions were made, by the clock; none where it has none.
    pub(crate) times: Option<(Timestamp, Timestamp)>,
    pub(crate) bits: Box<[u8]>,
    /// What was added last and is mostly added again.
    kinds: Vec<&'static str>,
    owner: Option<Arc<str>>,
}

impl Default for Digest {
    fn default() -> Self {
        let bits = vec![0; BYTES].into_boxed_slice();
        Self { times: None, bits, kinds: Vec::new(), owner: None }
    }
}

/// What a decision is found by.
#[derive(Clone, Copy)]
enum Facet<'a> {
    Job(&'a [u8; 16]),
    Owner(&'a str),
    By(&'a [u8; 16]),
    Kind(&'a str),
    Trace(&'a [u8; 16]),
}

impl Facet<'_> {
    /// The bits that stand for it.
    fn bits(self) -> impl Iterator<Item = usize> {
        let (number, bytes): (u8, &[u8]) = match self {
            Facet::Job(id) => (1, id),
            Facet::Owner(owner) => (2, owner.as_bytes()),
            Facet::By(id) => (3, id),
            Facet::Kind(kind) => (4, kind.as_bytes()),
            Facet::Trace(id) => (5, id),
        };
        // Its results are written down, so they must be the same for good.
        let mut hasher = SipHasher13::new();
        hasher.write_u8(number);
        hasher.write(bytes);
        let hash = hasher.finish128();
        (0..PROBES).map(move |probe| {
            let place = hash.h1.wrapping_add(probe.wrapping_mul(hash.h2 | 1));
            usize::try_from(place % (BYTES as u64 * 8)).unwrap_or(0)
        })
    }
}

impl Digest {
    /// Adds a decision.
    pub(crate) fn add(&mut self, event: &AuditEvent) {
        let (first, last) = self.times.unwrap_or((event.at, event.at));
        self.times = Some((first.min(event.at), last.max(event.at)));
        let kind = event.decision.kind();
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
            self.set(Facet::Kind(kind));
            self.set(Facet::Kind(group(kind)));
        }
        if self.owner.as_ref() != Some(&event.owner) {
            self.set(Facet::Owner(&event.owner));
            self.owner = Some(event.owner.clone());
        }
        if let Some(job) = &event.job {
            self.set(Facet::Job(job.as_bytes()));
        }
        if let Some(by) = &event.by {
            self.set(Facet::By(by.as_bytes()));
        }
        if let Some(trace) = event.trace_id() {
            self.set(Facet::Trace(trace.as_bytes()));
        }
    }

    fn set(&mut self, facet: Facet<'_>) {
        for bit in facet.bits() {
            self.bits[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// The digest as a record.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (first, last) = self.times.unwrap_or((Timestamp::MAX, Timestamp::MIN));
        let times = [first, last].map(|at| at.as_micros().to_be_bytes()).concat();
        [times.as_slice(), &self.bits].concat()
    }
}

/// What somebody looks for, as digests tell of it.
pub(crate) struct Wanted {
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) bits: Vec<usize>,
}

impl Wanted {
    pub(crate) fn by(filter: &AuditFilter) -> Self {
        let AuditFilter { job, kind, by, owner, trace, since, until } = filter;
        let facets = [
            job.as_ref().map(|job| Facet::Job(job.as_bytes())),
            kind.as_deref().map(Facet::Kind),
            by.as_ref().map(|by| Facet::By(by.as_bytes())),
            owner.as_deref().map(Facet::Owner),
            trace.as_ref().map(|trace| Facet::Trace(trace.as_bytes())),
        ];
        Self {
            since: since.unwrap_or(Timestamp::MIN),
            until: until.unwrap_or(Timestamp::MAX),
            bits: facets.into_iter().flatten().flat_map(Facet::bits).collect(),
        }
    }

    /// Whether the chapter of this digest may hold some of it.
    pub(crate) fn may_be_in(&self, digest: &[u8]) -> Result<bool> {
        let damaged = || Error::Corrupt("a digest of the audit is too short".into());
        let (first, rest) = digest.split_first_chunk().ok_or_else(damaged)?;
        let (last, bits) = rest.split_first_chunk().ok_or_else(damaged)?;
        let [first, last] = [*first, *last].map(i64::from_be_bytes).map(Timestamp::from_micros);
        let is_set =
            |bit: &usize| bits.get(bit / 8).is_some_and(|byte| (byte >> (bit % 8)) & 1 == 1);
        Ok(last >= self.since && first < self.until && self.bits.iter().all(is_set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronos_core::audit::{Decision, EndingKind};
    use chronos_core::{ExecutionId, JobId};

    fn event(number: u64) -> AuditEvent {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&number.to_be_bytes());
        let (job, at) = (Some(JobId::from_bytes(id)), Timestamp::from_secs(1_000));
        let decision = Decision::Ended {
            execution: ExecutionId::from_bytes(id),
            slot: at,
            ending: EndingKind::Success,
            next_attempt: None,
        };
        AuditEvent {
            sequence: number,
            at,
            by: None,
            owner: "ada".into(),
            job,
            trace: None,
            decision,
        }
    }

    fn by_job(number: u64) -> AuditFilter {
        AuditFilter { job: event(number).job, ..AuditFilter::default() }
    }

    #[test]
    fn a_digest_knows_all_that_is_in_its_chapter_and_little_else() {
        let mut digest = Digest::default();
        (1..=SIZE).for_each(|number| digest.add(&event(number)));
        let bytes = digest.to_bytes();
        let may = |filter: &AuditFilter| Wanted::by(filter).may_be_in(&bytes).unwrap();
        assert!((1..=SIZE).all(|number| may(&by_job(number))));
        let in_vain = (SIZE + 1..SIZE + 10_001).filter(|number| may(&by_job(*number))).count();
        assert!(in_vain < 400, "{in_vain} of 10,000 would be read in vain");
        for (kind, there) in [("execution.succeeded", true), ("execution", true), ("auth", false)] {
            let filter = AuditFilter { kind: Some(kind.into()), ..AuditFilter::default() };
            assert_eq!(may(&filter), there, "{kind}");
        }
        for (since, until, there) in
            [(1_000, 1_001, true), (1_001, 2_000, false), (0, 1_000, false)]
        {
            let [since, until] = [since, until].map(Timestamp::from_secs).map(Some);
            assert_eq!(may(&AuditFilter { since, until, ..AuditFilter::default() }), there);
        }
    }
}
