//! The view: the documents as of a commit, and in what stretches of them which times are to be found.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::index::SegmentId;
use tantivy::{DocId, Searcher, SegmentReader};

use super::schema::{AT, PLACE};

/// Documents of a stretch.
pub(super) const STRETCH: u32 = 4_096;

/// The documents as of a commit.
pub(super) struct View {
    pub(super) searcher: Searcher,
    /// Of each segment, in the order of the searcher.
    pub(super) zones: Vec<Arc<Zones>>,
}

/// When the documents of a segment happened.
pub(super) struct Zones {
    pub(super) at: Arc<dyn ColumnValues<i64>>,
    pub(super) place: Arc<dyn ColumnValues<u64>>,
    /// The earliest and the latest of each stretch. Documents come about in the order of time, so stretches
    /// are narrow, but nothing relies on it.
    bounds: Vec<(i64, i64)>,
}

/// A stretch of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) segment: usize,
    pub(super) begin: DocId,
    pub(super) end: DocId,
    /// Nothing in it is later.
    pub(super) latest: i64,
}

impl View {
    /// What a searcher sees. What is known of segments that were there before is taken over.
    pub(super) fn new(searcher: Searcher, before: Option<&Self>) -> tantivy::Result<Self> {
        let mut known = HashMap::new();
        if let Some(before) = before {
            let ids = before.searcher.segment_readers().iter().map(SegmentReader::segment_id);
            known.extend(ids.zip(&before.zones));
        }
        let zones = searcher.segment_readers().iter().map(|segment| zones(segment, &known));
        let zones = zones.collect::<tantivy::Result<_>>()?;
        Ok(Self { searcher, zones })
    }

    /// The stretches that hold anything between two times, both included.
    pub(super) fn stretches(&self, from: i64, to: i64) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        for (segment, zones) in self.zones.iter().enumerate() {
            let mut begin = 0;
            let last = self.searcher.segment_readers()[segment].max_doc();
            for (earliest, latest) in &zones.bounds {
                let end = last.min(begin + STRETCH);
                if *earliest <= to && *latest >= from {
                    stretches.push(Stretch { segment, begin, end, latest: *latest });
                }
                begin = end;
            }
        }
        stretches
    }
}

fn zones(
    segment: &SegmentReader,
    known: &HashMap<SegmentId, &Arc<Zones>>,
) -> tantivy::Result<Arc<Zones>> {
    if let Some(zones) = known.get(&segment.segment_id()) {
        return Ok(Arc::clone(zones));
    }
    let at = segment.fast_fields().i64(AT)?.first_or_default_col(i64::MIN);
    let place = segment.fast_fields().u64(PLACE)?.first_or_default_col(0);
    let mut bounds = Vec::new();
    let mut values = vec![0; STRETCH as usize];
    let mut begin = 0;
    while begin < segment.max_doc() {
        let end = segment.max_doc().min(begin + STRETCH);
        let values = &mut values[..(end - begin) as usize];
        at.get_range(begin.into(), values);
        let earliest = values.iter().min().copied().unwrap_or(i64::MAX);
        let latest = values.iter().max().copied().unwrap_or(i64::MIN);
        bounds.push((earliest, latest));
        begin = end;
    }
    Ok(Arc::new(Zones { at, place, bounds }))
}
