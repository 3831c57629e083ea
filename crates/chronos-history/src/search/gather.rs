//! Gathering: the newest documents that fit, without looking at more than it takes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tantivy::query::{Scorer, Weight};
use tantivy::{DocAddress, DocId, DocSet as _, SegmentReader, TERMINATED};

use super::view::{Stretch, View, Zones};

/// Documents that fit, by the estimate, from which on stretches are looked at one after the other.
const FEW: u64 = 20_000;
/// Stretches that are looked at together at first; twice as many each time.
const AT_FIRST: usize = 4;

/// The place of a document in the order of time. Of one instant, each has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) at: i64,
    pub(super) place: u64,
}

impl Moment {
    pub(super) const FIRST: Self = Self { at: i64::MIN, place: 0 };
    pub(super) const LAST: Self = Self { at: i64::MAX, place: u64::MAX };

    /// The moment before.
    pub(super) fn before(self) -> Self {
        match self.place.checked_sub(1) {
            Some(place) => Self { place, ..self },
            None => Self { at: self.at.saturating_sub(1), place: u64::MAX },
        }
    }
}

/// Moments from one to another, both included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: Moment,
    pub(super) to: Moment,
}

/// A document that fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) moment: Moment,
    /// How well it fits.
    pub(super) fit: f32,
    pub(super) address: DocAddress,
}

/// The newest documents of a span that fit, at most so many, the newest first.
pub(super) fn newest(
    view: &View,
    weight: &dyn Weight,
    span: Span,
    most: usize,
    graded: bool,
) -> tantivy::Result<Vec<Spot>> {
    if span.from > span.to || most == 0 {
        return Ok(Vec::new());
    }
    let mut stretches = view.stretches(span.from.at, span.to.at);
    let mut gathering = Gathering { view, span, most, graded, newest: BinaryHeap::new() };
    if estimate(view, weight)? <= FEW {
        gathering.look_at(weight, &mut stretches)?;
    } else {
        stretches.sort_unstable_by_key(|stretch| Reverse(stretch.latest));
        let (mut rest, mut count) = (&mut stretches[..], AT_FIRST);
        while let Some(next) = rest.first() {
            if gathering.has_all_down_to(next.latest) {
                break;
            }
            let (these, others) = rest.split_at_mut(count.min(rest.len()));
            gathering.look_at(weight, these)?;
            (rest, count) = (others, count * 2);
        }
    }
    let newest = gathering.newest.into_sorted_vec();
    Ok(newest.into_iter().map(|Reverse(ByMoment(spot))| spot).collect())
}

/// About how many documents fit, deleted ones and other times included.
pub(super) fn estimate(view: &View, weight: &dyn Weight) -> tantivy::Result<u64> {
    let mut sum = 0;
    for segment in view.searcher.segment_readers() {
        sum += u64::from(weight.scorer(segment, 1.0)?.size_hint());
    }
    Ok(sum)
}

/// Goes through the documents that fit in stretches of one segment, which are in the order of documents.
pub(super) fn visit(
    segment: &SegmentReader,
    scorer: &mut dyn Scorer,
    stretches: &[Stretch],
    mut with: impl FnMut(&mut dyn Scorer, DocId),
) {
    let alive = segment.alive_bitset();
    for stretch in stretches {
        let mut document = scorer.doc();
        if document < stretch.begin {
            document = scorer.seek(stretch.begin);
        }
        while document < stretch.end {
            if alive.is_none_or(|alive| alive.is_alive(document)) {
                with(scorer, document);
            }
            document = scorer.advance();
        }
        if document == TERMINATED {
            break;
        }
    }
}

/// Stretches by their segments, in the order of documents.
pub(super) fn by_segment(stretches: &mut [Stretch]) -> impl Iterator<Item = &[Stretch]> {
    stretches.sort_unstable_by_key(|stretch| (stretch.segment, stretch.begin));
    stretches.chunk_by(|one, next| one.segment == next.segment)
}

struct Gathering<'a> {
    view: &'a View,
    span: Span,
    most: usize,
    graded: bool,
    /// The oldest of them on top.
    newest: BinaryHeap<Reverse<ByMoment>>,
}

impl Gathering<'_> {
    /// Whether there are enough, none of them older than this.
    fn has_all_down_to(&self, at: i64) -> bool {
        let oldest = self.newest.peek().filter(|_| self.newest.len() >= self.most);
        oldest.is_some_and(|Reverse(ByMoment(oldest))| oldest.moment.at > at)
    }

    fn look_at(&mut self, weight: &dyn Weight, stretches: &mut [Stretch]) -> tantivy::Result<()> {
        for these in by_segment(stretches) {
            let number = these[0].segment;
            let segment = &self.view.searcher.segment_readers()[number];
            let zones = &self.view.zones[number];
            let mut scorer = weight.scorer(segment, 1.0)?;
            visit(segment, scorer.as_mut(), these, |scorer, document| {
                self.take(zones, number, scorer, document);
            });
        }
        Ok(())
    }

    fn take(&mut self, zones: &Zones, segment: usize, scorer: &mut dyn Scorer, document: DocId) {
        let at = zones.at.get_val(document);
        if !(self.span.from.at..=self.span.to.at).contains(&at) {
            return;
        }
        let is_full = self.newest.len() >= self.most;
        let oldest = self.newest.peek().map(|Reverse(ByMoment(oldest))| oldest.moment);
        if is_full && oldest.is_some_and(|oldest| oldest.at > at) {
            return;
        }
        let moment = Moment { at, place: zones.place.get_val(document) };
        let is_asked_for = self.span.from <= moment && moment <= self.span.to;
        if !is_asked_for || (is_full && oldest.is_some_and(|oldest| oldest > moment)) {
            return;
        }
        let fit = if self.graded { scorer.score() } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "there are not so many segments")]
        let address = DocAddress::new(segment as u32, document);
        if is_full {
            self.newest.pop();
        }
        self.newest.push(Reverse(ByMoment(Spot { moment, fit, address })));
    }
}

/// Spots in the order of their moments.
#[derive(Clone, Copy, Debug)]
struct ByMoment(Spot);

impl PartialEq for ByMoment {
    fn eq(&self, other: &Self) -> bool {
        self.0.moment == other.0.moment
    }
}

impl Eq for ByMoment {}

impl PartialOrd for ByMoment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByMoment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.moment.cmp(&other.0.moment)
    }
}
