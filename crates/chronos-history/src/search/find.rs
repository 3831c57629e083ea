//! Finding: a page of what fits, the best and newest first, with the parts of texts that were looked for.

use std::cmp::{Ordering, Reverse};
use std::hash::Hasher as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chronos_core::schedule::Zone;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use tantivy::TantivyDocument;
use tantivy::query::Weight;
use tantivy::schema::Value as _;

use super::compile::Plan;
use super::document::Record;
use super::error::SearchError;
use super::gather::{Moment, Span, Spot, newest};
use super::index::{Index, Result};
use super::query::Query;
use super::snippet::Snippet;
use super::tally::{Tally, tally};
use super::view::View;
use crate::Shelf;

/// Documents that are put in order together: of so many, the newest, the best come first; then the next.
const WINDOW: usize = 10_000;
/// What is newer by this counts as much as what fits twice as well.
const HALF_LIFE_MICROS: f64 = 24.0 * 3_600.0 * 1e6;

/// What is looked for, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The query; everything fits an empty one.
    pub query: &'a str,
    /// What whoever asks may see.
    pub shelf: Shelf<'a>,
    /// The zone of the days and times in the query, and of those in the tally.
    pub zone: Zone,
    /// The cursor of a page, to have the next one.
    pub cursor: Option<&'a str>,
    /// Hits of a page at most.
    pub limit: usize,
}

impl Request<'_> {
    /// Hits of a page at most, whatever is asked for.
    pub const MAX_LIMIT: usize = 100;
}

/// A page of what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The hits: the best and newest first.
    pub hits: Vec<Hit>,
    /// The cursor for the next page, if there is one.
    pub next: Option<String>,
    /// How many there are, and when they happened; with the first page alone.
    pub tally: Option<Tally>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// What it is.
    pub record: Record,
    /// How well it fits; none of those that ask for no word fits better than another.
    pub score: f32,
    /// Its name.
    pub name: Snippet,
    /// The part of what was said about it.
    pub text: Option<Snippet>,
    /// The part of what it left behind, if what was looked for is there.
    pub output: Option<Snippet>,
}

/// Where a page ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bookmark {
    /// Tells the search from others.
    search: u64,
    /// The window: its newest moment, and its oldest unless it is yet to be gathered.
    newest: (i64, u64),
    oldest: Option<(i64, u64)>,
    /// The last hit of the page in the order of the window: its rank as bits, and its moment.
    last: Option<(u64, (i64, u64))>,
}

impl Index {
    /// A page of what fits a query.
    pub fn search(&self, request: &Request<'_>) -> Result<Found> {
        let query = Query::parse(request.query, request.zone)?;
        let bookmark = match request.cursor {
            None => None,
            Some(cursor) => {
                let bookmark = Bookmark::read(cursor).filter(|mark| mark.search == request.mark());
                Some(bookmark.ok_or(SearchError::Cursor)?)
            }
        };
        let view = self.view();
        let failed = SearchError::engine(self.path());
        let search = Search {
            plan: Plan::of(&query, request.shelf, &self.inner.fields),
            graded: query.is_graded(),
            span: span(&query),
            limit: request.limit.clamp(1, Request::MAX_LIMIT),
            view: &view,
        };
        let (spots, next) = search.page(bookmark).map_err(&failed)?;
        let next = next.map(|next| Bookmark { search: request.mark(), ..next }.write());
        let tally = match bookmark {
            None => Some(search.tally(request.zone).map_err(&failed)?),
            Some(_) => None,
        };
        let sought: Vec<&str> = query.sought().collect();
        let mut hits = Vec::with_capacity(spots.len());
        for spot in spots {
            hits.extend(self.hit(&view, spot, &sought)?);
        }
        Ok(Found { hits, next, tally })
    }

    fn hit(&self, view: &View, spot: Spot, sought: &[&str]) -> Result<Option<Hit>> {
        let document: TantivyDocument =
            view.searcher.doc(spot.address).map_err(SearchError::engine(self.path()))?;
        let value = document.get_first(self.inner.fields.record);
        let record = value.and_then(|value| value.as_bytes());
        let Some(record) = record.and_then(|bytes| postcard::from_bytes::<Record>(bytes).ok())
        else {
            return Ok(None);
        };
        let output = Snippet::of(&record.output, sought).filter(Snippet::is_marked);
        Ok(Some(Hit {
            score: spot.fit,
            name: Snippet::of(&record.name, sought).unwrap_or_default(),
            text: Snippet::of(&record.text, sought),
            output,
            record,
        }))
    }
}

struct Search<'a> {
    plan: Plan,
    graded: bool,
    span: Span,
    limit: usize,
    view: &'a View,
}

impl Search<'_> {
    fn tally(&self, zone: Zone) -> tantivy::Result<Tally> {
        let weight = self.plan.weight(&self.view.searcher, false)?;
        tally(self.view, weight.as_ref(), self.span, zone)
    }

    /// The page after a bookmark, and the bookmark of the next.
    fn page(
        &self,
        mut bookmark: Option<Bookmark>,
    ) -> tantivy::Result<(Vec<Spot>, Option<Bookmark>)> {
        let weight = self.plan.weight(&self.view.searcher, self.graded)?;
        let weight = weight.as_ref();
        let mut page = Vec::new();
        loop {
            let (window, gathered) = self.window(weight, bookmark)?;
            let last = bookmark.and_then(|bookmark| bookmark.last);
            let begin = last.map_or(0, |last| {
                window.partition_point(|spot| order(rank_of(spot), last) != Ordering::Greater)
            });
            let (taken, rest) =
                window[begin..].split_at((window.len() - begin).min(self.limit - page.len()));
            page.extend(taken);
            if let (Some(last), false) = (taken.last(), rest.is_empty()) {
                let next = Bookmark { last: Some(rank_of(last)), ..gathered };
                return Ok((page, Some(next)));
            }
            let Some(oldest) = gathered.oldest.map(Moment::from).filter(|it| *it > self.span.from)
            else {
                return Ok((page, None));
            };
            let below =
                Bookmark { newest: oldest.before().into(), oldest: None, last: None, ..gathered };
            if page.len() == self.limit {
                // A page that would be empty is not promised.
                let span = Span { to: oldest.before(), ..self.span };
                let more = newest(self.view, weight, span, 1, false)?;
                return Ok((page, (!more.is_empty()).then_some(below)));
            }
            bookmark = Some(below);
        }
    }

    /// The window of a bookmark, in its order, and the bookmark that has it again: whatever is added meanwhile,
    /// it goes from the same moment to the same moment.
    fn window(
        &self,
        weight: &dyn Weight,
        bookmark: Option<Bookmark>,
    ) -> tantivy::Result<(Vec<Spot>, Bookmark)> {
        let (known, most) = match bookmark.and_then(|bookmark| bookmark.oldest) {
            // What came late to it belongs to it as well.
            Some(oldest) => (Some(oldest), 2 * WINDOW),
            None if self.graded => (None, WINDOW),
            None => (None, self.limit),
        };
        let top =
            bookmark.map_or(self.span.to, |bookmark| self.span.to.min(bookmark.newest.into()));
        let bottom = known.map_or(self.span.from, |oldest| self.span.from.max(oldest.into()));
        let span = Span { from: bottom, to: top };
        let mut spots = newest(self.view, weight, span, most, self.graded)?;
        let first = spots.first().map_or(top, |spot| spot.moment);
        let oldest = match spots.last() {
            Some(spot) if known.is_none() && spots.len() == most => spot.moment,
            _ => bottom,
        };
        spots.sort_unstable_by(|one, other| order(rank_of(one), rank_of(other)));
        let newest = bookmark.map_or(first.into(), |bookmark| bookmark.newest);
        Ok((spots, Bookmark { search: 0, newest, oldest: Some(oldest.into()), last: None }))
    }
}

/// What ranks before what: by how well it fits and how new it is, then by its moment.
fn order(one: (u64, (i64, u64)), other: (u64, (i64, u64))) -> Ordering {
    let rank = |bits| f64::from_bits(bits);
    let by_rank = rank(other.0).total_cmp(&rank(one.0));
    by_rank.then_with(|| Reverse(one.1).cmp(&Reverse(other.1)))
}

fn rank_of(spot: &Spot) -> (u64, (i64, u64)) {
    let fit = f64::from(1.0 + spot.fit.max(0.0)).log2();
    let rank = fit + spot.moment.at as f64 / HALF_LIFE_MICROS;
    (rank.to_bits(), spot.moment.into())
}

/// The moments that a query asks for.
fn span(query: &Query) -> Span {
    let from =
        query.after.map_or(Moment::FIRST, |after| Moment { at: after.as_micros(), place: 0 });
    let to = query
        .before
        .map_or(Moment::LAST, |before| Moment { at: before.as_micros(), place: 0 }.before());
    Span { from, to }
}

impl Request<'_> {
    /// Tells this search from others.
    fn mark(&self) -> u64 {
        let mut hasher = SipHasher13::new();
        let (kind, owner) = match self.shelf {
            Shelf::Everyone => (0, ""),
            Shelf::Owner(owner) => (1, owner),
        };
        hasher.write_u8(kind);
        for text in [owner, self.query, self.zone.name()] {
            hasher.write_usize(text.len());
            hasher.write(text.as_bytes());
        }
        hasher.finish()
    }
}

impl Bookmark {
    fn write(&self) -> String {
        URL_SAFE_NO_PAD.encode(postcard::to_allocvec(self).unwrap_or_default())
    }

    fn read(cursor: &str) -> Option<Self> {
        postcard::from_bytes(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
    }
}

impl From<Moment> for (i64, u64) {
    fn from(Moment { at, place }: Moment) -> Self {
        (at, place)
    }
}

impl From<(i64, u64)> for Moment {
    fn from((at, place): (i64, u64)) -> Self {
        Self { at, place }
    }
}
