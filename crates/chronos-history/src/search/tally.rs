//! The tally: how many documents fit, and when they happened.

use std::collections::BTreeMap;

use chrono::{Datelike as _, NaiveDate, NaiveTime, Timelike as _};
use chronos_core::Timestamp;
use chronos_core::schedule::Zone;
use serde::{Deserialize, Serialize};
use tantivy::query::Weight;

use super::gather::{Span, by_segment, estimate, visit};
use super::query::first_at_or_after;
use super::view::{Stretch, View};

/// Documents that are counted one by one; of more, some stretches stand for the others.
const COUNTED: u64 = 400_000;
/// What is counted together at first: all offsets from universal time are whole quarters of an hour.
const QUARTER: i64 = 15 * 60 * 1_000_000;
/// Parts that are told of at most, the newest.
const MOST: usize = 1_000;

const HOURS_UP_TO: i64 = 3 * 24 * 4;
const DAYS_UP_TO: i64 = 400 * 24 * 4;

/// How many documents fit, and when they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many there are.
    pub total: u64,
    /// Whether all were counted; otherwise some were, for all.
    pub exact: bool,
    /// How long the parts are.
    pub grain: Grain,
    /// The parts of time in which there are any, in order; the newest if there are too many.
    pub parts: Vec<Part>,
}

/// How long the parts of a tally are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grain {
    /// Hours.
    #[default]
    Hour,
    /// Days.
    Day,
    /// Months.
    Month,
}

impl Grain {
    /// The grain's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// A part of time, as the clocks of the reader's zone divide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// When it begins.
    pub from: Timestamp,
    /// How many documents there are in it.
    pub count: u64,
}

/// Counts the documents of a span that fit.
pub(super) fn tally(
    view: &View,
    weight: &dyn Weight,
    span: Span,
    zone: Zone,
) -> tantivy::Result<Tally> {
    let mut stretches = view.stretches(span.from.at, span.to.at);
    let step = step(view, estimate(view, weight)?, stretches.len());
    let mut quarters = Quarters::default();
    for these in by_segment(&mut stretches) {
        let number = these[0].segment;
        // So that small segments have their share, where each begins differs.
        let counted: Vec<Stretch> =
            these.iter().copied().skip(number % step).step_by(step).collect();
        let (segment, zones) = (&view.searcher.segment_readers()[number], &view.zones[number]);
        let mut scorer = weight.scorer(segment, 1.0)?;
        visit(segment, scorer.as_mut(), &counted, |_, document| {
            let at = zones.at.get_val(document);
            if (span.from.at..=span.to.at).contains(&at) {
                quarters.count(at.div_euclid(QUARTER));
            }
        });
    }
    Ok(quarters.told(step, zone))
}

/// One of how many stretches is counted.
fn step(view: &View, fitting: u64, stretches: usize) -> usize {
    let documents = view.searcher.num_docs().max(1);
    let in_stretches = (stretches as u64).saturating_mul(super::view::STRETCH.into());
    let share = fitting.min(documents).saturating_mul(in_stretches.min(documents)) / documents;
    usize::try_from(share.div_ceil(COUNTED)).unwrap_or(usize::MAX).max(1)
}

#[derive(Default)]
struct Quarters {
    counts: BTreeMap<i64, u64>,
    /// The one that was counted last: the next is mostly the same.
    last: Option<(i64, u64)>,
}

impl Quarters {
    fn count(&mut self, quarter: i64) {
        match &mut self.last {
            Some((last, count)) if *last == quarter => *count += 1,
            _ => {
                self.file();
                self.last = Some((quarter, 1));
            }
        }
    }

    fn file(&mut self) {
        if let Some((quarter, count)) = self.last.take() {
            *self.counts.entry(quarter).or_default() += count;
        }
    }

    fn told(mut self, step: usize, zone: Zone) -> Tally {
        self.file();
        let times = step as u64;
        let ends = (self.counts.keys().next(), self.counts.keys().next_back());
        let grain = match ends {
            (Some(first), Some(last)) if last - first >= DAYS_UP_TO => Grain::Month,
            (Some(first), Some(last)) if last - first >= HOURS_UP_TO => Grain::Day,
            _ => Grain::Hour,
        };
        let mut parts: Vec<Part> = Vec::new();
        for (quarter, count) in &self.counts {
            let count = count * times;
            let from = begin(Timestamp::from_micros(quarter * QUARTER), grain, zone);
            match parts.last_mut() {
                Some(part) if part.from == from => part.count += count,
                _ => parts.push(Part { from, count }),
            }
        }
        parts.drain(..parts.len().saturating_sub(MOST));
        let total = self.counts.values().sum::<u64>() * times;
        Tally { total, exact: step == 1, grain, parts }
    }
}

/// When the part began that an instant is in.
fn begin(instant: Timestamp, grain: Grain, zone: Zone) -> Timestamp {
    let local = zone.wall_clock(instant);
    let day = match grain {
        Grain::Hour => {
            let past = i64::from(local.minute()) * 60 + i64::from(local.second());
            return Timestamp::from_secs(instant.as_secs() - past);
        }
        Grain::Day => local.date(),
        Grain::Month => {
            NaiveDate::from_ymd_opt(local.year(), local.month(), 1).unwrap_or(local.date())
        }
    };
    first_at_or_after(day.and_time(NaiveTime::MIN), zone).unwrap_or(instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_clocks_of_the_zone() {
        let at = |text| Timestamp::parse(text).unwrap();
        let mut quarters = Quarters::default();
        // Clocks in Berlin are set back at 01:00: the hour from two to three comes twice.
        for text in ["2026-10-25T00:10:00Z", "2026-10-25T00:59:00Z", "2026-10-25T01:10:00Z"] {
            quarters.count(at(text).as_micros().div_euclid(QUARTER));
        }
        let told = quarters.told(1, Zone::parse("Europe/Berlin").unwrap());
        let parts = vec![
            Part { from: at("2026-10-25T00:00:00Z"), count: 2 },
            Part { from: at("2026-10-25T01:00:00Z"), count: 1 },
        ];
        assert_eq!(told, Tally { total: 3, exact: true, grain: Grain::Hour, parts });

        let mut quarters = Quarters::default();
        for text in ["2026-10-20T18:29:00Z", "2026-10-20T18:31:00Z", "2026-10-25T00:00:00Z"] {
            quarters.count(at(text).as_micros().div_euclid(QUARTER));
        }
        let told = quarters.told(2, Zone::parse("Asia/Kolkata").unwrap());
        let parts = vec![
            Part { from: at("2026-10-19T18:30:00Z"), count: 2 },
            Part { from: at("2026-10-20T18:30:00Z"), count: 2 },
            Part { from: at("2026-10-24T18:30:00Z"), count: 2 },
        ];
        assert_eq!(told, Tally { total: 6, exact: false, grain: Grain::Day, parts });
    }
}
